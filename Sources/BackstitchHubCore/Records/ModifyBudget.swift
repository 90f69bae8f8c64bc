import CloudKitWire

/// What a request may have the writer do, since everybody else's writes wait for it.
///
/// Operations that go beyond it fail by themselves, and succeed in a request of their own: the first
/// one always fits.
final class ModifyBudget {
    private let limits: HubLimits
    private var bytes = 0
    private var links = 0
    private var operations = 0
    /// Keys of references that were passed by to count them.
    private var visits = 0
    private(set) var isSpent = false

    /// The most keys of references that are passed by for a request.
    private static let visitsMax = 1_000_000

    init(_ limits: HubLimits) { self.limits = limits }

    /// Begins with an operation.
    ///
    /// - Throws: `LIMIT_EXCEEDED` if those before it left nothing.
    func begin() throws(WireError) {
        guard !isSpent else { throw Self.tooMuch }
        operations += 1
    }

    /// Counts bytes of records that are read or written.
    func spend(bytes count: Int) throws(WireError) {
        bytes += count
        if bytes > limits.modifiedBytes { try end() }
    }

    /// Counts references and files of a record.
    func spend(links count: Int) throws(WireError) {
        links += count
        if links > limits.linksPerRequest { try end() }
    }

    /// Counts keys of references; false if they are too many.
    func allows(visits count: Int) -> Bool {
        visits += count
        return visits <= Self.visitsMax
    }

    private func end() throws(WireError) {
        isSpent = true
        if operations > 1 { throw Self.tooMuch }
    }

    static let tooMuch = WireError(
        .limitExceeded, "The request asks for too much at once. Send the operation in another one.")
}
