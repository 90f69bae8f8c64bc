/// An answer without the protocol's error object. It may be a proxy's, and says nothing of the records of the
/// request.
struct ForeignAnswer: Error {
    var status: Int
    /// The size of the request's body; nil if it is not known.
    var requestBytes: Int?

    /// What the failure says to a developer.
    var message: String {
        let answer = "the answer has status \(status) and no error of the protocol"
        guard status == 413, let requestBytes else {
            return "\(answer): if a proxy stands before the service, look there"
        }
        return """
            \(answer): a proxy before the service seems to refuse a body of \(requestBytes) bytes; let it \
            take larger ones
            """
    }
}
