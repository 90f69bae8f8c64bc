import CloudKitWire

extension Hub {
    /// Checks how many operations or records a request names.
    func checkCount(_ count: Int) throws(WireError) {
        let max = configuration.limits.operationsPerRequest
        guard count <= max else {
            throw WireError(.limitExceeded, "A request names at most \(max) items, not \(count).")
        }
    }

    /// The addresses of files in a reply that is made now.
    func addresses(
        _ access: DatabaseAccess, _ transaction: any HubReading
    ) throws -> AssetAddresses {
        AssetAddresses(
            baseURL: baseURL, key: try transaction.state().tokenKey,
            expires: now + configuration.limits.addressMilliseconds, partition: access.partition)
    }

    /// How many records a page has.
    func pageCount(_ wanted: Int64?, _ call: HubCall) throws(WireError) -> Int {
        let limits = configuration.limits
        guard let wanted else { return limits.recordsPerPage }
        guard wanted > 0 else { throw WireError(.badRequest, "A page has one record or more.") }
        let isLarge = call.extensions.contains(.largePages)
        let most = isLarge ? limits.recordsPerLargePage : limits.recordsPerPage
        return min(Int(clamping: wanted), most)
    }

    /// Who writes.
    ///
    /// - Throws: `AUTHENTICATION_REQUIRED` if nobody is signed in.
    func author(of access: DatabaseAccess) throws(WireError) -> String {
        try Self.author(access.principal)
    }

    /// As above.
    static func author(_ principal: Principal) throws(WireError) -> String {
        guard let author = principal.userRecordName else {
            throw WireError(.authenticationRequired, "request needs authorization")
        }
        return author
    }
}
