import BackstitchCore

/// Gives every write a change tag and a time.
struct WriteStamp: Sendable {
    /// The server's time, in milliseconds since 1970.
    var milliseconds: Int64 = 1_700_000_000_000
    /// Whether each write moves the time on by a millisecond; otherwise a clock moves it.
    var advancesItself: Bool
    /// How many tags were given; never goes back, also not when a backup is restored.
    private var tagCount: UInt64 = 0
    /// The versions of all records by their tags; nil if they are not kept.
    private(set) var versions: [String: ServiceRecord]?
    /// The device that writes; empty for another client.
    var writer = ""
    /// The devices that wrote the versions that are kept, by their tags.
    private(set) var writers: [String: String] = [:]
    /// The tags of the versions that are kept and with which a record began, or began anew.
    private(set) var firsts: Set<String> = []
    /// The tags with which the lives of the records began that the versions belong to, by the versions' tags.
    private var lives: [String: String] = [:]
    /// The lives that were ended by somebody, by the tags with which they began.
    private var endedLives: Set<String> = []

    init(advancesItself: Bool, keepsVersions: Bool = false) {
        self.advancesItself = advancesItself
        versions = keepsVersions ? [:] : nil
    }

    /// Stamps a record. Its time is later than that of the previous version in its slot.
    mutating func stamp(_ record: inout ServiceRecord, after slot: RecordSlot) {
        if advancesItself { milliseconds += 1 }
        tagCount += 1
        record.changeTag = String(tagCount, radix: 36)
        record.modifiedMilliseconds = max(milliseconds, slot.lastModified + 1)
        guard versions != nil else { return }
        versions?[record.changeTag] = record
        writers[record.changeTag] = writer
        if slot.record == nil { firsts.insert(record.changeTag) }
        lives[record.changeTag] = slot.record.map { life(of: $0.changeTag) } ?? record.changeTag
    }

    private func life(of changeTag: String) -> String { lives[changeTag] ?? changeTag }

    /// Notes that somebody ended records, by the tags of their last versions.
    mutating func noteEnds(_ changeTags: [String]) {
        guard versions != nil else { return }
        for tag in changeTags { endedLives.insert(life(of: tag)) }
    }

    /// Whether somebody ever ended the life of a record that a version belongs to.
    func wasEnded(_ changeTag: String) -> Bool { endedLives.contains(life(of: changeTag)) }
}
