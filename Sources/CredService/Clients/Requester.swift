/// A client, and the purpose that it states.
struct Requester {
  let client: Client
  let purpose: String?
}
