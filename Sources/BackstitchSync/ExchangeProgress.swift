import BackstitchCore
import BackstitchLog

/// What a service gives in pages, each with a token.
enum Feed: Hashable {
    case database
    case zone
}

/// What the exchange with a zone has read and done so far in a round.
final class ExchangeProgress {
    /// What was folded for the running pass.
    var outbox = Outbox()
    /// Records of which only the first edits were refused, because the rest was after the fold or came
    /// meanwhile. They are pushed with all of them next.
    var wholes: Set<StoredRecordID> = []
    /// The positions in the outbox of the items that the machine knows.
    var pushed: [PendingChange] = []
    /// The token of the zone's feed that the last request of a push was sent with, and the one that the service
    /// gave for it, if that is another one.
    var replacedToken: (old: String, new: String)?
    /// What is to be looked up before the next fold, by the places that the machine knows.
    var missed: [StaleRecord] = []
    /// What was listed to be looked up, which is done once.
    var lookedUp: Set<StaleRecord> = []
    /// When a record is to be looked up that the service could not deliver; nil if none is left.
    var dueMilliseconds: Int64?
    /// The names of the records whose ends pushes of this round made or met: the next pull has them.
    var ended: Set<RecordName> = []
    /// The names of the records that this round noted before it sent them: no request before may have made
    /// them on the service.
    var firstSent: Set<RecordName> = []
    /// Where the run of the log begins that is folded.
    var foldStart: UInt64 = 0
    /// The last operation that was looked at to raise the outbox's floor.
    var floorLooked: UInt64 = 0
    /// Whether the service told that the zone changed.
    var isZoneChanged = false
    /// Hashes of the tokens of the pages that were to be continued.
    private var metTokens: Set<Int> = []
    /// How many of these pages had a token that was met before.
    private var repeatedTokens = 0
    private static let repeatedTokensMax = 8
    /// Whether records wait for files, so that the outbox's floor stays before them.
    var waitsForFiles = false

    /// Forgets what was read, and gives its memory back.
    func beginAgain() {
        outbox = Outbox()
        wholes = []
        ended = []
        firstSent = []
        dropPass()
        missed = []
        lookedUp = []
        dueMilliseconds = nil
        (foldStart, floorLooked) = (0, 0)
        isZoneChanged = false
        beginFeeds()
        repeatedTokens = 0
        waitsForFiles = false
    }

    /// Forgets the tokens that were met, because a feed is read from its beginning.
    func beginFeeds() { metTokens = [] }

    /// Whether a feed is stuck after a page that is to be continued: a service may give a token again some
    /// times, at once or in turn with others, and would be asked without end if it always did.
    func isStuck(in feed: Feed, at token: String, after last: String?) -> Bool {
        var hasher = Hasher()
        hasher.combine(feed)
        hasher.combine(token)
        let isNew = metTokens.insert(hasher.finalize()).inserted
        guard !isNew || token == last else { return false }
        repeatedTokens += 1
        return repeatedTokens > Self.repeatedTokensMax
    }

    /// Gives the memory of what was folded back.
    func dropPass() {
        outbox.changes = []
        pushed = []
        replacedToken = nil
    }
}
