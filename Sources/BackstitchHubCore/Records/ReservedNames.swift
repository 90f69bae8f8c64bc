/// Names that the protocol keeps for the service.
enum ReservedNames {
    /// The types of records that clients can't make. Others of the service's own have a dot, or begin
    /// with an underscore, and are no identifiers.
    static let recordTypes: Set<String> = ["Users"]
}
