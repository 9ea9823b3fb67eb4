"""Forget and erase: planned, counted, confirmed, run, asked again, and written down. For the window, the command line
and tests alike: no Qt here.
"""
