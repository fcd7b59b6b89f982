import Glibc

exit(Credd.run(Array(CommandLine.arguments.dropFirst())))
