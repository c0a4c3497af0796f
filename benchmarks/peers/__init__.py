"""What other engines that survive killed workers ask of the same PostgreSQL for work as small as a trivial deployment.

Each engine is a program beside this file, run by an interpreter that has it installed: ``PROGRAM URL COUNT`` prints a
line when it is ready, does ``COUNT`` pieces of work one after the other for each line that it reads, prints a line with
the processor time of its process in seconds, and ends with its input.
"""
