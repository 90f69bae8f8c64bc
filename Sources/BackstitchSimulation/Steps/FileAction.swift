/// What can happen to the files of a device or of the service in a step.
public enum FileAction: String, Hashable, Sendable, Codable, CaseIterable {
    /// The device opens a file of one of its records.
    case open
    /// The device opens a file, and reads it again after later steps.
    case hold
    /// The device adds a file that no record holds yet.
    case add
    /// The device takes files off itself that the service has.
    case evict
    /// The device removes files that nothing names.
    case collect
    /// The device undoes one of its last transactions.
    case undo
    /// The service removes files that no record holds.
    case collectOnService
    /// All receipts of uploads end.
    case expireReceipts
    /// All addresses for downloads end.
    case expireAddresses
}

/// How one of the next transfers of a device goes wrong.
public struct TransferTrouble: Hashable, Sendable, Codable {
    /// The kinds of trouble.
    public enum Kind: String, Hashable, Sendable, Codable, CaseIterable {
        /// The connection breaks after some bytes.
        case cut
        /// All bytes arrive, and the answer gets lost.
        case lostReply
        /// The address has ended.
        case refused
        /// The service asks to wait.
        case busy
    }

    /// What happens.
    public var kind: Kind
    /// Whether it happens to an upload; else to a download.
    public var isUpload: Bool
    /// After how many bytes a connection breaks.
    public var bytes: Int

    /// A trouble by its parts.
    public init(_ kind: Kind, isUpload: Bool, bytes: Int = 0) {
        self.kind = kind
        self.isUpload = isUpload
        self.bytes = bytes
    }
}
