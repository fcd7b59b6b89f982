internal import ArgumentParser
internal import CredRuntime

Credd.main()
