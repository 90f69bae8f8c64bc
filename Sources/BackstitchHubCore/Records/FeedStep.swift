/// What a write of this hub added to the feeds.
struct FeedStep: Hashable, Sendable {
    var database: Range<UInt64>
    /// By the names of zones.
    var zones: [String: Range<UInt64>] = [:]
}
