/// The limits of requests and records.
public struct HubLimits: Hashable, Sendable {
    /// The most operations or records that a request names.
    public var operationsPerRequest = 200
    /// The most records of a page.
    public var recordsPerPage = 200
    /// The most records of a page for clients that know large pages.
    public var recordsPerLargePage = 2_000
    /// The most bytes of the records of a page, or of the pages of one reply, after which they end
    /// early; one record of each zone always fits.
    public var pageBytes = 8 << 20
    /// The most bytes of a record, without assets.
    public var recordBytes = 1_000_000
    /// The most bytes of a body that is no asset.
    public var bodyBytes = 16 << 20
    /// The most bytes that the private database of a user takes up, assets included; nil for no limit.
    public var privateDatabaseBytes: Int64?
    /// The most bytes that the public database of a container takes up; nil for no limit.
    public var publicDatabaseBytes: Int64?
    /// The most bytes of an asset.
    public var assetBytes = 5 << 30
    /// How long the address of an upload or download is good, in milliseconds.
    public var addressMilliseconds: Int64 = 15 * 60 * 1_000
    /// How far the date of a signed request may be from the hub's clock, in milliseconds.
    public var signatureMilliseconds: Int64 = 10 * 60 * 1_000
    /// How long a tombstone, or the row of a deleted zone, is kept, in milliseconds; devices that were away for
    /// longer fetch all.
    public var tombstoneMilliseconds: Int64 = 180 * 24 * 3_600 * 1_000
    /// How long a file is kept after the last record, receipt and address of it ended, in
    /// milliseconds.
    public var unusedAssetMilliseconds: Int64 = 60 * 60 * 1_000
    /// How long the holder of an ended session is told so, in milliseconds; afterwards its token is
    /// unknown.
    public var endedSessionMilliseconds: Int64 = 30 * 24 * 3_600 * 1_000
    /// How long the answer to a named request is kept in case the request is repeated, in
    /// milliseconds.
    public var ledgerMilliseconds: Int64 = 10 * 60 * 1_000
    /// The most bytes of all answers of a database that are kept for the case that signed requests come
    /// again. Beyond that signed requests that write have to wait: what was signed must not act twice.
    public var ledgerBytes = 64 << 20
    /// How many days an unused session lasts. A used one gets later tokens.
    public var sessionDays = 14
    /// How many days a session lasts at most, even if it is used.
    public var sessionDaysMax = 365
    /// The most devices of a user that are told of changes; the oldest is forgotten for a new one.
    public var devicesPerUser = 32
    /// How long a request to the courier waits for something to tell, in milliseconds.
    public var courierMilliseconds: Int64 = 50_000
    /// The most failed sign-ins of one address in a minute, of IP version 6 of one network of 64 bits;
    /// then it is told to wait.
    public var failedSignInsPerMinute = 60
    /// The most passwords that fail for a user in an hour; then the hub's page takes none for the rest of it.
    public var failedPasswordsPerHour = 20
    /// How many minutes a code counts that signs a user in once.
    public var signInCodeMinutes = 60

    // MARK: Time and turns

    /// The threads that read for requests; at most half of them scan all records.
    public var readThreads = 4
    /// How long reading for a request may take, in milliseconds; then it is told to come back later.
    public var readMilliseconds = 5_000
    /// How long a request waits for one of these threads, in milliseconds.
    public var waitMilliseconds = 10_000
    /// How long a request may wait for its turn to write, in milliseconds.
    public var requestMilliseconds = 30_000
    /// The most requests that wait for a thread, and a quarter more of those that are signed in.
    public var waitingReads = 4_096
    /// The most of them of one user, or of one address without a signed-in user.
    public var waitingReadsPerClient = 256
    /// The threads that hash passwords of the sign-in page; each takes a processor and 32 MiB meanwhile.
    public var passwordThreads = 1
    /// The most passwords that wait for one of these threads, a quarter of them of one address.
    public var waitingPasswords = 64
    /// The threads that wait until the disk has what was uploaded.
    public var uploadThreads = 4
    /// The most requests of one user that are under way.
    public var requestsPerUser = 64

    // MARK: Bodies and replies

    /// The most bytes of the body of a call other than `records/modify`.
    public var callBodyBytes = 1 << 20
    /// The most bytes of a body without a signed-in user.
    public var anonymousBodyBytes = 256 << 10
    /// The most values in the JSON of a body, those of lists included.
    public var valuesPerBody = 1_000_000
    /// The most bytes of bodies that are worked at, all together; a larger one is alone.
    public var parsedBytes = 4 << 20
    /// The most bytes of a reply. Pages end early within it.
    public var replyBytes = 16_000_000

    /// A reply with so many bytes takes no further record: as replies have it, a record may be four
    /// times as large as it is stored.
    var fullReplyBytes: Int { replyBytes / 4 * 3 }

    // MARK: Queries

    /// The most filters of a query.
    public var filtersPerQuery = 100
    /// The most sort keys of a query.
    public var sortsPerQuery = 10
    /// How many bytes of text or data count in an order.
    public var sortedBytes = 1_024

    // MARK: Writes

    /// The most records that refer to one with DELETE_SELF.
    public var sourcesPerRecord = 750
    /// The most records that go with those that a request deletes.
    public var cascadedRecords = 10_000
    /// The most bytes of records, as they are and as they will be, that a request reads and writes;
    /// one record always fits.
    public var modifiedBytes = 16 << 20
    /// The most references with an action that a request writes; one record always fits.
    public var linksPerRequest = 20_000
    /// The most zones of a database. Zones that were deleted are remembered as long as there is room for
    /// them, so that devices are told of them.
    public var zonesPerDatabase = 2_000
    /// The most runs of hubs that a database remembers, each of which begins when a hub is opened. Those are
    /// forgotten first that wrote longest ago.
    public var runsPerDatabase = 4_096
    /// How many changes of a zone a tombstone is kept for.
    public var tombstoneChanges: UInt64 = 1_000_000
    /// The most bytes of answers that are kept for a user in case that requests come again; the
    /// oldest go first.
    public var ledgerBytesPerUser = 32 << 20
    /// The most addresses for uploads of a user, and files that no record holds yet.
    public var uploadsPerUser = 1_000

    // MARK: Notifications

    /// The most subscriptions of a user in a database.
    public var subscriptionsPerUser = 500
    /// The most bytes of a subscription.
    public var subscriptionBytes = 16 << 10
    /// The most requests whose changes devices are still to be told of; changes of further requests
    /// are not announced.
    public var waitingNotifications = 1_000
    /// The most pairs of a change and a subscription that are looked at for a request.
    public var notifiedPairs = 1_000_000
    /// How long notifications are held for a device that does not ask, in milliseconds.
    public var absentCourierMilliseconds: Int64 = 10 * 60 * 1_000

    /// The defaults, which are CloudKit's if those are known.
    public init() {}
}
