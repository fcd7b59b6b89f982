internal import ArgumentParser

CreddSimulate.main()
