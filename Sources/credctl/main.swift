import CredctlKit
import Glibc

// A reader of our output that goes away is an error we report, not a signal we die of.
_ = signal(SIGPIPE, SIG_IGN)
exit(Program.run(Array(CommandLine.arguments.dropFirst())).code)
