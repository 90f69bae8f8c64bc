/// Arguments that make no sense; the message says which and why.
struct UsageError: Error, Equatable {
    let message: String

    init(_ message: String) { self.message = message }
}
