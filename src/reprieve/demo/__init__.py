"""The demonstration: five scenes on hollow clusters, one for each policy, told from what the control plane records."""
