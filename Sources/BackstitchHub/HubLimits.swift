/// What requests and records may be like.
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
    public var assetBytes = 50 << 20
    /// How long the address of an upload or download is good, in milliseconds.
    public var addressMilliseconds: Int64 = 15 * 60 * 1_000
    /// How far the date of a signed request may be from the hub's clock, in milliseconds.
    public var signatureMilliseconds: Int64 = 10 * 60 * 1_000
    /// How long a tombstone is kept, in milliseconds; devices that were away for longer fetch all.
    public var tombstoneMilliseconds: Int64 = 180 * 24 * 3_600 * 1_000
    /// How long a file is kept after the last record, receipt and address of it ended, in
    /// milliseconds.
    public var unusedAssetMilliseconds: Int64 = 60 * 60 * 1_000
    /// How long the holder of a session that ended is told so; from then on its token is one that was
    /// never given, in milliseconds.
    public var endedSessionMilliseconds: Int64 = 30 * 24 * 3_600 * 1_000
    /// How long the answer to a named request is kept for the case that it comes again, in
    /// milliseconds.
    public var ledgerMilliseconds: Int64 = 10 * 60 * 1_000
    /// The most devices of a user that are told of changes; the oldest is forgotten for a new one.
    public var devicesPerUser = 32
    /// How long a request to the courier waits for something to tell, in milliseconds.
    public var courierMilliseconds: Int64 = 50_000
    /// The most failed sign-ins of one address in a minute, of IP version 6 of one network of 64 bits;
    /// then it is told to wait.
    public var failedSignInsPerMinute = 60

    /// The defaults, which are CloudKit's where those are known.
    public init() {}
}
