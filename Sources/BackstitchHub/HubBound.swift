public import BackstitchHubCore

/// A named bound of what a hub does for its clients. BOUNDS.md has the table of them.
public struct HubBound: Sendable {
    /// The name, as options and the table have it.
    public let name: String
    /// A description of the bounded quantity, with the unit.
    public let meaning: String
    /// The answer to a client that exceeds the bound, or the consequence.
    public let answer: String
    private let read: @Sendable (HubLimits, HTTPLimits) -> Int
    private let write: @Sendable (inout HubLimits, inout HTTPLimits, Int) -> Void

    private init(
        _ name: String, _ path: any WritableKeyPath<HubLimits, Int> & Sendable, _ meaning: String,
        _ answer: String
    ) {
        (self.name, self.meaning, self.answer) = (name, meaning, answer)
        read = { limits, _ in limits[keyPath: path] }
        write = { limits, _, value in limits[keyPath: path] = value }
    }

    private init(
        http name: String, _ path: any WritableKeyPath<HTTPLimits, Int> & Sendable,
        _ meaning: String, _ answer: String
    ) {
        (self.name, self.meaning, self.answer) = (name, meaning, answer)
        read = { _, limits in limits[keyPath: path] }
        write = { _, limits, value in limits[keyPath: path] = value }
    }

    /// The value unless another one is given.
    public var standard: Int { read(HubLimits(), HTTPLimits()) }

    /// Sets the bound to a value of at least 1.
    public func set(_ value: Int, in hub: inout HubLimits, _ http: inout HTTPLimits) {
        write(&hub, &http, max(1, value))
    }

    /// The bound of a name.
    public static func named(_ name: String) -> HubBound? { all.first { $0.name == name } }

    /// All bounds, in the order of the table.
    public static let all: [HubBound] = [
        // Connections
        HubBound(
            http: "connections", \.connections, "connections",
            "the address with the most loses the oldest that waits for nothing"),
        HubBound(
            http: "connectionsPerAddress", \.connectionsPerAddress,
            "connections of an address, or of a network of 64 bits of IP version 6; those of a "
                + "trusted proxy are not counted", "closed at once"),
        HubBound(
            http: "requestsPerAddress", \.requestsPerAddress,
            "requests of an address under way, without long polls", "429 THROTTLED"),
        HubBound(
            "requestsPerUser", \.requestsPerUser, "writes of a user under way", "429 THROTTLED"),
        HubBound(http: "headBytes", \.headBytes, "bytes of a head", "431"),
        HubBound(http: "targetBytes", \.targetBytes, "bytes of the address of a request", "414"),
        HubBound(http: "headers", \.headers, "headers of a request", "431"),
        HubBound(http: "headSeconds", \.headSeconds, "seconds for a head", "closed"),
        HubBound(http: "bodySeconds", \.bodySeconds, "seconds for a body", "closed"),
        HubBound(
            http: "transferSeconds", \.transferSeconds,
            "seconds for an upload, or for reading a reply", "closed"),
        HubBound(http: "idleSeconds", \.idleSeconds, "seconds without a byte", "closed"),
        HubBound(
            http: "absenceSeconds", \.absenceSeconds,
            "seconds that a client which closed its side is answered", "closed"),
        HubBound(
            http: "stopSeconds", \.stopSeconds,
            "seconds that a stop waits, one half for answers and one for their reading",
            "503 TRY_AGAIN_LATER, then closed"),
        // Bodies and replies
        HubBound("bodyBytes", \.bodyBytes, "bytes of the body of `records/modify`", "413"),
        HubBound("callBodyBytes", \.callBodyBytes, "bytes of the body of another call", "413"),
        HubBound(
            "anonymousBodyBytes", \.anonymousBodyBytes,
            "bytes of a body where nobody is signed in", "413"),
        HubBound("assetBytes", \.assetBytes, "bytes of a file", "413"),
        HubBound(http: "bodiesBytes", \.bodiesBytes, "bytes of all bodies in memory", "503"),
        HubBound(
            http: "bodiesBytesPerAddress", \.bodiesBytesPerAddress,
            "bytes of bodies in memory of an address", "503"),
        HubBound(
            "valuesPerBody", \.valuesPerBody,
            "values in the JSON of a body, those of lists included", "400 LIMIT_EXCEEDED"),
        HubBound(
            "parsedBytes", \.parsedBytes,
            "bytes of bodies of writes that are worked at; a larger one is alone", "waits"),
        HubBound(
            "pageBytes", \.pageBytes,
            "bytes of the records of a reply, after which it ends",
            "a page that goes on (`moreComing`, `continuationMarker`); in `records/lookup` "
                + "LIMIT_EXCEEDED for each record that is left; in `records/modify` records "
                + "without fields"),
        HubBound("replyBytes", \.replyBytes, "bytes of a reply", "400 LIMIT_EXCEEDED"),
        HubBound(
            http: "repliesBytes", \.repliesBytes, "bytes of all replies that were not read yet",
            "the address with the most loses the oldest"),
        // Reading
        HubBound(
            "readThreads", \.readThreads,
            "threads that read; half of them for queries and notifications", "waits"),
        HubBound(
            "readMilliseconds", \.readMilliseconds, "milliseconds that a read may take",
            "503 TRY_AGAIN_LATER"),
        HubBound(
            "waitMilliseconds", \.waitMilliseconds,
            "milliseconds that a read, a password or an upload waits for a thread",
            "503 TRY_AGAIN_LATER"),
        HubBound(
            "waitingReads", \.waitingReads,
            "reads that wait for a thread, and a quarter more of users", "503 TRY_AGAIN_LATER"),
        HubBound(
            "waitingReadsPerClient", \.waitingReadsPerClient,
            "reads of a user, or of an address where nobody is signed in, that wait",
            "503 TRY_AGAIN_LATER"),
        HubBound(
            "passwordThreads", \.passwordThreads,
            "threads that hash passwords for the sign-in page", "waits"),
        HubBound(
            "waitingPasswords", \.waitingPasswords,
            "passwords that wait for such a thread, a quarter of them of one address",
            "503 with the form"),
        HubBound(
            "uploadThreads", \.uploadThreads, "threads that wait for the disk of uploads", "waits"),
        HubBound(
            "operationsPerRequest", \.operationsPerRequest,
            "operations, records or other items of a request", "400 LIMIT_EXCEEDED"),
        HubBound("recordsPerPage", \.recordsPerPage, "records of a page", "a page that goes on"),
        HubBound(
            "recordsPerLargePage", \.recordsPerLargePage,
            "records of a page for clients that know large pages", "a page that goes on"),
        HubBound("filtersPerQuery", \.filtersPerQuery, "filters of a query", "LIMIT_EXCEEDED"),
        HubBound("sortsPerQuery", \.sortsPerQuery, "sort keys of a query", "LIMIT_EXCEEDED"),
        HubBound(
            "sortedBytes", \.sortedBytes, "bytes of text or data that count in an order",
            "values that begin alike are ordered by record name"),
        // Writing
        HubBound(
            "requestMilliseconds", \.requestMilliseconds,
            "milliseconds that a write waits for its turn", "503 TRY_AGAIN_LATER"),
        HubBound("recordBytes", \.recordBytes, "bytes of a record", "QUOTA_EXCEEDED for it"),
        HubBound(
            "modifiedBytes", \.modifiedBytes,
            "bytes of records that a request reads and writes; one record always fits",
            "LIMIT_EXCEEDED for the operation"),
        HubBound(
            "linksPerRequest", \.linksPerRequest,
            "references with an action, and files, that a request writes; one record always fits",
            "LIMIT_EXCEEDED for the operation"),
        HubBound(
            "sourcesPerRecord", \.sourcesPerRecord,
            "records that refer to one with DELETE_SELF", "LIMIT_EXCEEDED for the operation"),
        HubBound(
            "cascadedRecords", \.cascadedRecords, "records that a request deletes by references",
            "LIMIT_EXCEEDED for the operation"),
        HubBound(
            "zonesPerDatabase", \.zonesPerDatabase,
            "zones; deleted ones make room, the oldest first", "LIMIT_EXCEEDED for the operation"),
        HubBound(
            "runsPerDatabase", \.runsPerDatabase,
            "starts of hubs that wrote to a database and are remembered",
            "the oldest is forgotten; a device that has seen no later one sends all its records"),
        HubBound(
            "ledgerBytesPerUser", \.ledgerBytesPerUser,
            "bytes of answers that are kept for a user", "the oldest are forgotten"),
        HubBound(
            "ledgerBytes", \.ledgerBytes,
            "bytes of answers of a database that are kept for requests that servers signed",
            "429 THROTTLED for a signed write"),
        HubBound(
            "uploadsPerUser", \.uploadsPerUser,
            "addresses for uploads, and files that no record holds yet",
            "429 THROTTLED"),
        // Notifications
        HubBound(
            "devicesPerUser", \.devicesPerUser, "devices of a user that are told",
            "the oldest is forgotten"),
        HubBound(
            "subscriptionsPerUser", \.subscriptionsPerUser,
            "subscriptions of a user in a database", "LIMIT_EXCEEDED for the operation"),
        HubBound(
            "subscriptionBytes", \.subscriptionBytes, "bytes of a subscription",
            "LIMIT_EXCEEDED for the operation"),
        HubBound(
            "waitingNotifications", \.waitingNotifications,
            "requests of which devices are still to be told", "nobody is told"),
        HubBound(
            "notifiedPairs", \.notifiedPairs,
            "pairs of a change and a subscription that are looked at for a request",
            "nobody else is told"),
        HubBound(
            "failedSignInsPerMinute", \.failedSignInsPerMinute,
            "failed sign-ins of an address in a minute", "429 THROTTLED"),
        HubBound(
            "failedPasswordsPerHour", \.failedPasswordsPerHour,
            "passwords that fail for a user in an hour", "429, with right ones too"),
        HubBound(
            "signInCodeMinutes", \.signInCodeMinutes,
            "minutes that a code counts which signs a user in once", "401"),
        HubBound(
            "sessionDays", \.sessionDays, "days that a session goes on without being used",
            "421 AUTHENTICATION_REQUIRED"),
        HubBound(
            "sessionDaysMax", \.sessionDaysMax, "days that a session goes on at most",
            "421 AUTHENTICATION_REQUIRED"),
    ]

    /// The table, in Markdown.
    public static var table: String {
        (["| bound | unless given | what | beyond it |", "|---|---|---|---|"]
            + all.map { "| `\($0.name)` | \($0.standard) | \($0.meaning) | \($0.answer) |" })
            .joined(separator: "\n")
    }
}
