import CredCore
typealias SignInState = Standing
extension SessionMachine { var state: Standing { standing } }
