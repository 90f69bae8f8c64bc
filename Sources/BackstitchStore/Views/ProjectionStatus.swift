import BackstitchLog

/// The state of a projection's view, and its last operation.
public struct ProjectionStatus: Hashable, Sendable {
    /// The state of a view.
    public enum State: Hashable, Sendable {
        /// It has every operation.
        case ready
        /// It was complete once and lacks the last operations.
        case catchingUp
        /// It is being built from the log, for the first time or again. It can't be read yet.
        case building
        /// It could not take in an operation, and has those before it.
        case failed(ProjectionFailure)
        /// What is stored is of this version, and not of the one that this store has.
        case otherVersion(Int)
    }

    /// The projection's name.
    public let name: String
    /// The version of the stored view.
    public let version: Int
    /// Whether the store was opened with it; otherwise nothing keeps it up here.
    public let isRegistered: Bool
    /// The sequence of the last operation that the view has; 0 for none.
    public let checkpoint: UInt64
    /// The sequence of the last operation of the store.
    public let lastSequence: UInt64
    /// The state of the view.
    public let state: State
}

/// Why a view has stopped.
public struct ProjectionFailure: Hashable, Sendable {
    /// The operation that it could not take in.
    public let sequence: UInt64
    /// The error that `apply` threw, as text.
    public let reason: String

    /// The most bytes of a reason that are kept.
    static let reasonByteCountMax = 1_000

    init(sequence: UInt64, reason: String) {
        self.sequence = sequence
        self.reason = reason
    }

    /// The failure by an error.
    init(sequence: UInt64, _ error: any Error) {
        let text = (error as? StoreError)?.message ?? "\(error)"
        self.init(
            sequence: sequence,
            reason: String(decoding: text.utf8.prefix(Self.reasonByteCountMax), as: UTF8.self))
    }
}

extension ProjectionStatus {
    /// Those of all stored views, in the order of their names.
    static func all(
        _ reader: TableReader, _ registered: RegisteredProjections
    ) throws -> [ProjectionStatus] {
        let head = try reader.log.head
        return try StoredProjections(reader).states().map { name, state in
            ProjectionStatus(name: name, state, registered: registered[name], head: head)
        }
    }

    init(
        name: String, _ stored: ProjectionState, registered: RegisteredProjection?, head: UInt64
    ) {
        self.name = name
        version = Int(stored.version)
        isRegistered = registered != nil
        checkpoint = stored.checkpoint
        lastSequence = head
        state =
            if let registered, registered.version != stored.version {
                .otherVersion(Int(stored.version))
            } else if let failure = stored.failure {
                .failed(failure)
            } else if !stored.isComplete {
                .building
            } else {
                stored.checkpoint == head ? .ready : .catchingUp
            }
    }
}
