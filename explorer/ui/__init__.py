"""The desktop program: windows, panes and what they are made of. Only this package imports Qt."""
