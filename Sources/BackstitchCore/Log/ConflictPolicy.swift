/// Decides a conflict: a record was changed here and on the service since they last agreed.
///
/// The result of each is a function of the version that both sides started from, the local
/// operations with their clocks, and the service's version; never of the order of arrival.
public indirect enum ConflictPolicy: Hashable, Sendable {
    /// The service's version wins, deletes included; lost values are kept in the conflict journal.
    case serverWins
    /// The local version wins in all fields that this schema knows, deletes included; unknown
    /// fields keep the service's values.
    case clientWins
    /// The later version wins: the time of the last local operation, by this device's clock, is
    /// compared with the time at which the service saved its version. The service wins a tie. It
    /// does not say when a record was deleted, so a local edit wins against a delete.
    case lastWriterWins
    /// The service's version keeps the record; the local one becomes a new record, which the
    /// journal names. Its references are those of the local version; records that refer to the
    /// original still do. If the service deleted the record, the local version becomes the new
    /// record; if it was deleted here, the service's version comes back. Entities with unique
    /// attributes can't have copies: for them it is ``serverWins``.
    case keepBoth
    /// The application decides: ``SyncConfiguration/conflictResolver`` is asked. Without a
    /// resolver, the record is parked.
    case resolver
    /// Field by field: a field that only one side changed is taken from that side, and nothing is
    /// lost. If both sides changed a field to different values, the entity's rule for that field
    /// decides, or else the given policy. ``resolver`` is asked once for all such fields of a record, and
    /// decides no others; ``keepBoth`` keeps both versions as a whole. The given policy also decides if
    /// one side deleted the record.
    case merge(otherwise: ConflictPolicy)

    /// The policy for what a merge can't settle; itself for the others. A merge within a merge
    /// means the same as the inner one.
    package var innermost: ConflictPolicy {
        if case .merge(let otherwise) = self { otherwise.innermost } else { self }
    }
}

extension ConflictPolicy: CaseIterable {
    private static let simple: [ConflictPolicy] = [
        .serverWins, .clientWins, .lastWriterWins, .keepBoth, .resolver,
    ]

    /// All policies, with a merge for each other one.
    public static let allCases = simple + simple.map { .merge(otherwise: $0) }
}

extension ConflictPolicy: LosslessStringConvertible {
    /// The name of the case, for a merge followed by the other policy: `merge(serverWins)`.
    public var description: String {
        switch self {
        case .serverWins: "serverWins"
        case .clientWins: "clientWins"
        case .lastWriterWins: "lastWriterWins"
        case .keepBoth: "keepBoth"
        case .resolver: "resolver"
        case .merge(let otherwise): "merge(\(otherwise.innermost))"
        }
    }

    /// The policy with a description, or nil if no policy has it.
    public init?(_ description: String) {
        guard let policy = Self.allCases.first(where: { $0.description == description }) else {
            return nil
        }
        self = policy
    }
}

extension ConflictPolicy: Codable {
    /// Reads the description.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let policy = Self(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "That is no conflict policy.")
        }
        self = policy
    }

    /// Writes the description.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

extension ConflictPolicy {
    private static let mergeBit: UInt8 = 0x10

    /// The stored form, which never changes.
    package var code: UInt8 {
        switch self {
        case .serverWins: 1
        case .clientWins: 2
        case .lastWriterWins: 3
        case .keepBoth: 4
        case .resolver: 5
        case .merge(let otherwise): Self.mergeBit | otherwise.innermost.code
        }
    }

    /// Reads the stored form.
    package init?(code: UInt8) {
        guard let policy = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = policy
    }
}
