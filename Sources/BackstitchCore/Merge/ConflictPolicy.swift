/// Who wins when a record was changed here and on the service since they last agreed.
///
/// The raw values are part of the stored format and never change.
public enum ConflictPolicy: UInt8, Hashable, Sendable, CaseIterable, Codable {
    /// The service's version stands, deletes included; what is lost is kept in the conflict journal.
    case serverWins = 1
    /// The local version stands in all fields that this schema knows, deletes included; the fields
    /// that it does not know keep the service's values.
    case clientWins = 2
}

extension ConflictPolicy: CustomStringConvertible {
    /// The name of the case.
    public var description: String {
        switch self {
        case .serverWins: "serverWins"
        case .clientWins: "clientWins"
        }
    }
}
