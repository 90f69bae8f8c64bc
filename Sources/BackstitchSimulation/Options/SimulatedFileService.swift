/// How the service of a simulation takes files.
public enum SimulatedFileService: String, Hashable, Sendable, Codable, CaseIterable {
    /// It goes on with uploads that were cut, and its checksums are SHA-256.
    case hub
    /// Uploads begin anew, and its checksums can't be computed by clients.
    case apple
}
