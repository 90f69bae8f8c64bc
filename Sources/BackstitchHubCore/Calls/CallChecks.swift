import CloudKitWire

extension HubLimits {
    /// Checks how many operations or records a request names.
    func checkCount(_ count: Int) throws(WireError) {
        guard count <= operationsPerRequest else {
            throw WireError(
                .limitExceeded,
                "A request names at most \(operationsPerRequest) items, not \(count).")
        }
    }

    /// How many records a page has.
    ///
    /// - Parameter wanted: How many the client asks for; nil if it does not say.
    func pageCount(_ wanted: Int64?, _ extensions: Set<WireExtension>) throws(WireError) -> Int {
        guard let wanted else { return recordsPerPage }
        guard wanted > 0 else { throw WireError(.badRequest, "A page has one record or more.") }
        let most = extensions.contains(.largePages) ? recordsPerLargePage : recordsPerPage
        return min(Int(clamping: wanted), most)
    }
}

extension Principal {
    /// Whom records are attributed to.
    ///
    /// - Throws: `AUTHENTICATION_REQUIRED` if nobody is signed in.
    var requiredAuthor: String {
        get throws(WireError) {
            guard let userRecordName else {
                throw WireError(.authenticationRequired, "request needs authorization")
            }
            return userRecordName
        }
    }
}

extension DatabaseAccess {
    /// Who writes.
    ///
    /// - Throws: `AUTHENTICATION_REQUIRED` if nobody is signed in.
    var requiredAuthor: String {
        get throws(WireError) { try principal.requiredAuthor }
    }
}

extension ZoneNumbers {
    /// A zone that is there; its number is remembered if that helps to tell what is read of it.
    func zone(
        _ id: WireZoneID, _ access: DatabaseAccess, _ transaction: any HubReading
    ) throws -> ZoneRow {
        let zone = try transaction.zone(id, access, rows)
        if transaction.isFar { note(zone, in: access.partition) }
        return zone
    }

    /// The database.
    func database(
        _ access: DatabaseAccess, _ transaction: any HubReading
    ) throws -> DatabaseRow {
        try transaction.database(access, databases)
    }
}

extension WireError {
    /// The answer at an address that leads to nothing, or that counts no longer.
    static let nothing = WireError(.notFound, "There is nothing at this address.")

    /// The answer to what would take up more than a database may.
    static let noSpace = WireError(.quotaExceeded, "The space is used up.")

    /// The answer to a request that waited too long, or that took too long.
    static let tooBusy = WireError.busy("The service is busy. Try again later.")

    /// The answer to a request of a client that has too many under way.
    static let tooManyRequests = WireError(
        .throttled, "Too many requests are under way. Wait for their answers.", retryAfter: 1)
}
