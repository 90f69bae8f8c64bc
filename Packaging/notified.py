#!/usr/bin/env python3
"""Waits for one message at a socket as systemd has it for its services, and prints it."""

import os
import socket
import sys

listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
listener.settimeout(60)
print(listener.recv(4096).decode())
