"""What all tests share."""

import os
import signal

from hypothesis import settings

# A shell makes background jobs deaf to SIGINT, and whatever they start is deaf, too: who interrupts it waits for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long one example takes says more about the machine than about the code. What is tried is the same each time, so
# that a change is judged by what it changed; long runs try what nobody has tried before.
settings.register_profile("reprieve", deadline=None, derandomize="REPRIEVE_RANDOM" not in os.environ)
settings.load_profile("reprieve")
