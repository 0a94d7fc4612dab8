"""What all tests share."""

import signal

from hypothesis import settings

# A shell makes background jobs deaf to SIGINT, and whatever they start is deaf, too: who interrupts it waits for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long one example takes says more about the machine than about the code.
settings.register_profile("reprieve", deadline=None)
settings.load_profile("reprieve")
