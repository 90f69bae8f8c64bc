/// Which database of a container a request goes to.
public enum DatabaseScope: String, Hashable, Sendable, Codable {
    /// The user's own zones.
    case `private`
    /// Zones of others that the user takes part in.
    case shared
    /// The one zone that all users read.
    case `public`
}
