import CloudKitWire
import WireCrypto

extension Hub {
    /// Applies operations to the records of a zone: `records/modify`.
    func modifyRecords(_ call: HubCall, _ access: DatabaseAccess) async throws -> HubResponse {
        let author = try author(of: access)
        let request = try await namedRequest(call)
        let answers = answerLedger(call, access)
        let job = ModifyJob(
            request: request, access: access, author: author, now: now,
            limits: configuration.limits, assets: assets, ledger: answers)
        let (limits, baseURL, extensions) = (configuration.limits, baseURL, call.extensions)
        let outcome = try await storage.write(call.work) { transaction in
            try job.run(transaction) { plan, state, isShort in
                Self.body(
                    of: plan, request, extensions, isShort: isShort,
                    AssetAddresses(
                        baseURL: baseURL, key: state.tokenKey,
                        expires: job.now + limits.addressMilliseconds), limits)
            }
        }
        switch outcome {
        case .repeated(let body):
            metrics.countRepetition()
            return .json(body)
        case .done(let body, let changes):
            let deleted = changes.count { $0.kind == .deleted }
            metrics.countRecords(saved: changes.count - deleted, deleted: deleted)
            ledger.forget(answers.ended, of: access.key)
            noteAnswer(body, of: job)
            if !changes.isEmpty {
                if changes.contains(where: { $0.record.hasAssets }) {
                    releaseUploads(of: request)
                }
                let zoneName = request.zoneID?.zoneName ?? WireZoneID.defaultZoneName
                notify(of: changes, in: [zoneName], access, sender: call.pushToken, call.work)
            }
            return .json(body)
        }
    }

    private func noteAnswer(_ body: [UInt8], of job: ModifyJob) {
        guard let key = job.ledger.nameKey else { return }
        ledger.note(
            key, of: job.access.key,
            bytes: min(body.count, AnswerLedger.answerBytesMax) + AnswerLedger.entryBytes,
            until: job.now + job.limits.ledgerMilliseconds)
    }

    /// Forgets the space of files that records may hold now, and that counts as theirs.
    private func releaseUploads(of request: ModifyRecordsRequest) {
        for operation in request.operations {
            for field in operation.record.fields.values {
                for case .asset(let asset) in field.value?.elements ?? [] {
                    if let receipt = asset.receipt {
                        uploads.release(UploadRow.key(receipt: receipt))
                    }
                }
            }
        }
    }

    /// Bodies up to this many bytes are read where they are; larger ones by the threads that read.
    private static let quickBodyBytes = 64 << 10

    /// The request with a name for each record, and no name twice.
    private func namedRequest(_ call: HubCall) async throws -> ModifyRecordsRequest {
        guard call.body.count > Self.quickBodyBytes else { return try readNamedRequest(call) }
        return try await pool.run(.page, call.work) { try self.readNamedRequest(call) }
    }

    private func readNamedRequest(_ call: HubCall) throws -> ModifyRecordsRequest {
        var request: ModifyRecordsRequest = try call.decode()
        try checkCount(request.operations.count)
        for index in request.operations.indices
        where request.operations[index].record.recordName == nil
            && request.operations[index].unreadable == nil
        {
            request.operations[index].record.recordName = makeUUID()
        }
        try Self.checkDuplicates(request.operations)
        return request
    }

    /// Checks how many operations or records a request names.
    func checkCount(_ count: Int) throws(WireError) {
        let max = configuration.limits.operationsPerRequest
        guard count <= max else {
            throw WireError(.limitExceeded, "A request names at most \(max) items, not \(count).")
        }
    }

    private static func checkDuplicates(_ operations: [WireRecordOperation]) throws(WireError) {
        var names: Set<String> = []
        for operation in operations {
            guard let name = operation.record.recordName, !names.insert(name).inserted else {
                continue
            }
            throw WireError(.badRequest, "There is more than one operation for a record.")
        }
    }

    private static func body(
        of plan: ModifyPlan, _ request: ModifyRecordsRequest, _ extensions: Set<WireExtension>,
        isShort: Bool, _ addresses: AssetAddresses, _ limits: HubLimits
    ) -> [UInt8] {
        var json = JSONWriter(numbersAsStrings: request.options.numbersAsStrings)
        json.object { json in
            json.member("records", array: zip(plan.results, request.operations)) { json, item in
                let (result, operation) = item
                // What was done is told in any case, and beyond a number of bytes without the fields.
                let isFull = json.byteCount >= limits.pageBytes
                switch result {
                case .saved(let record):
                    let keys =
                        isShort || isFull
                        ? [] : operation.desiredKeys ?? request.options.desiredKeys
                    var reply = RecordReply(
                        desiredKeys: keys.map(Set.init), addresses: addresses)
                    if operation.record.createsShortGUID {
                        let zone = request.zoneID ?? WireZoneID()
                        reply.shortGUID = addresses.shortGUID(of: record, in: zone.zoneName)
                    }
                    reply.write(record, to: &json)
                case .deleted(let name):
                    json.object { json in
                        json.member("recordName", name)
                        json.member("deleted", flag: true)
                    }
                case .failed(let name, var error):
                    if isShort || isFull || !extensions.contains(.serverRecord) {
                        error.serverRecord = nil
                    }
                    json.object {
                        WireItem<WireRecord>.failure(.record(name), error).write(to: &$0)
                    }
                }
            }
        }
        return json.bytes
    }

    /// Reads records by name: `records/lookup`. Those that the reply has no room for are told to be
    /// looked up by themselves; the first one always fits.
    func lookUpRecords(_ call: HubCall, _ access: DatabaseAccess) throws -> HubResponse {
        let request: LookupRecordsRequest = try call.decode()
        try checkCount(request.records.count)
        let pageBytes = configuration.limits.pageBytes
        return try storage.read(call.work) { transaction in
            let zone = try transaction.zone(request.zoneID ?? WireZoneID(), access)
            let addresses = try addresses(transaction)
            let optionKeys = request.options.desiredKeys.map(Set.init)
            return try .object(numbersAsStrings: request.options.numbersAsStrings) { json in
                try json.array("records") { json in
                    for wanted in request.records {
                        var error = Self.noRoom
                        if json.byteCount < pageBytes {
                            let keys = wanted.desiredKeys.map(Set.init) ?? optionKeys
                            let record = try transaction.liveRecord(wanted.recordName, in: zone)
                            if let record {
                                RecordReply(desiredKeys: keys, addresses: addresses)
                                    .write(record, to: &json)
                                continue
                            }
                            error = WireError(.notFound, "Record not found")
                        }
                        json.object {
                            WireItem<WireRecord>.failure(.record(wanted.recordName), error)
                                .write(to: &$0)
                        }
                    }
                }
            }
        }
    }

    private static let noRoom = WireError(
        .limitExceeded, "The reply has no room for the record. Look it up in another request.")

    /// Finds records: `records/query`.
    func queryRecords(_ call: HubCall, _ access: DatabaseAccess) throws -> HubResponse {
        let request: QueryRecordsRequest = try call.decode()
        let count = try pageCount(request.resultsLimit, call)
        let runner = try QueryRunner(
            query: request.query, marker: request.continuationMarker, count: count,
            limits: configuration.limits)
        return try storage.read(call.work) { transaction in
            let zones: [ZoneRow]
            if request.zoneID == nil, request.isZoneWide,
                let database = try transaction.database(access)
            {
                zones = try transaction.zones(database)
            } else {
                zones = [try transaction.zone(request.zoneID ?? WireZoneID(), access)]
            }
            let page = try runner.run(zones, transaction)
            let addresses = try addresses(transaction)
            let keys = request.options.desiredKeys.map(Set.init)
            let syncToken = try call.wantsSyncToken ? Self.syncToken(of: zones, transaction) : nil
            return .object(numbersAsStrings: request.options.numbersAsStrings) { json in
                // As replies have them, records may be larger than they are stored.
                let count = json.array("records") { json in
                    var count = 0
                    for entry in page.entries
                    where count == 0 || json.byteCount < configuration.limits.pageBytes {
                        RecordReply(
                            desiredKeys: keys, zoneID: access.wireID(entry.zoneName),
                            addresses: addresses
                        ).write(entry.record, to: &json)
                        count += 1
                    }
                    return count
                }
                let hasMore = page.hasMore || count < page.entries.count
                json.member(
                    "continuationMarker",
                    hasMore && count > 0 ? page.entries[count - 1].marker : nil)
                json.member("syncToken", syncToken)
            }
        }
    }

    /// Where the feed of the one zone stands that a query is about; nil where it has no feed.
    private static func syncToken(
        of zones: [ZoneRow], _ transaction: any HubReading
    ) throws -> String? {
        guard zones.count == 1, let zone = zones.first, !zone.isDefault else { return nil }
        return FeedToken(.zone, owner: zone.number, origin: zone.sequence, sequence: zone.sequence)
            .text(try transaction.state())
    }

    /// The addresses of files in a reply that is made now.
    func addresses(_ transaction: any HubReading) throws -> AssetAddresses {
        AssetAddresses(
            baseURL: baseURL, key: try transaction.state().tokenKey,
            expires: now + configuration.limits.addressMilliseconds)
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
}
