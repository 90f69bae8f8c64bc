import BackstitchCore

/// What a zone holds under one record name, from the first time that the name is used.
///
/// Invariant: a slot keeps its index for the life of the zone, so that the feed and the links can
/// refer to it by number.
struct RecordSlot: Sendable {
    let name: String
    /// The record as it stands; nil if it is deleted, or never was.
    var record: ServiceRecord?
    /// The version before the last write, for stale reads.
    var previous: ServiceRecord?
    /// The type of the record that was deleted.
    var deletedType: String?
    /// The position in the feed of the last write; 0 if there never was one.
    var sequence = 0
    /// The size of the record as the limits count it.
    var bytes = 0
    /// The references that the service acts upon.
    var links: [RecordLink] = []
    /// The last request that named the record, to find duplicates.
    var requestNumber = 0

    /// When the last version was written, also one that is deleted: a record that begins again
    /// within the same millisecond is later than its earlier life.
    var lastModified: Int64 { (record ?? previous)?.modifiedMilliseconds ?? 0 }
}

/// A reference that the service acts upon when its target is deleted.
struct RecordLink: Hashable, Sendable {
    var target: String
    var isValidating: Bool
}

/// The records that refer to one name.
struct LinkSources: Hashable, Sendable {
    var deleteSelf: Set<Int> = []
    var validate: Set<Int> = []
}

/// One write in a zone's feed. It counts only while it is the last one of its slot.
struct FeedEntry: Sendable {
    var sequence: Int
    var slot: Int
}
