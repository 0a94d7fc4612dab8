"""The policies: each reads like the design it came from."""
