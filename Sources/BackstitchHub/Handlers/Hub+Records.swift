import CloudKitWire
import WireCrypto

extension Hub {
    /// Applies operations to the records of a zone: `records/modify`.
    func modifyRecords(_ call: HubCall, _ access: DatabaseAccess) async throws -> HubResponse {
        let author = try author(of: access)
        let request = try namedRequest(call)
        let job = ModifyJob(
            request: request, access: access, author: author, now: now,
            limits: configuration.limits, assets: assets, ledgerKey: ledgerKey(call, access),
            bodyHash: call.requestID == nil ? [] : Digest.sha256(call.body))
        let (limits, baseURL, extensions) = (configuration.limits, baseURL, call.extensions)
        let outcome = try await storage.write { transaction in
            try job.run(transaction) { plan, state in
                Self.body(
                    of: plan, request, extensions,
                    AssetAddresses(
                        baseURL: baseURL, key: state.tokenKey,
                        expires: job.now + limits.addressMilliseconds))
            }
        }
        switch outcome {
        case .repeated(let body):
            metrics.countRepetition()
            return .json(body)
        case .done(let body, let changes):
            let deleted = changes.count { $0.kind == .deleted }
            metrics.countRecords(saved: changes.count - deleted, deleted: deleted)
            if !changes.isEmpty {
                let zoneName = request.zoneID?.zoneName ?? WireZoneID.defaultZoneName
                notify(of: changes, in: zoneName, access, sender: call.pushToken)
            }
            return .json(body)
        }
    }

    /// The request with a name for each record, and no name twice.
    private func namedRequest(_ call: HubCall) throws(WireError) -> ModifyRecordsRequest {
        var request: ModifyRecordsRequest = try call.decode()
        try checkCount(request.operations.count)
        for index in request.operations.indices
        where request.operations[index].record.recordName == nil {
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

    /// The key under which the answer to a named request is kept.
    private func ledgerKey(_ call: HubCall, _ access: DatabaseAccess) -> HubKey? {
        guard let id = call.requestID, (1...128).contains(id.utf8.count),
            call.extensions.contains(.requestID)
        else { return nil }
        let name = access.key.bytes + [0] + (access.author ?? "").utf8 + [0] + id.utf8
        return HubKey(.ledger).adding(Digest.sha256(Array(name)))
    }

    private static func body(
        of plan: ModifyPlan, _ request: ModifyRecordsRequest, _ extensions: Set<WireExtension>,
        _ addresses: AssetAddresses
    ) -> [UInt8] {
        var json = JSONWriter(numbersAsStrings: request.options.numbersAsStrings)
        json.object { json in
            json.member("records", array: zip(plan.results, request.operations)) { json, item in
                let (result, operation) = item
                switch result {
                case .saved(let record):
                    let keys = operation.desiredKeys ?? request.options.desiredKeys
                    RecordReply(desiredKeys: keys.map(Set.init), addresses: addresses)
                        .write(record, to: &json)
                case .deleted(let name):
                    json.object { json in
                        json.member("recordName", name)
                        json.member("deleted", flag: true)
                    }
                case .failed(let name, var error):
                    if !extensions.contains(.serverRecord) { error.serverRecord = nil }
                    json.object {
                        WireItem<WireRecord>.failure(.record(name), error).write(to: &$0)
                    }
                }
            }
        }
        return json.bytes
    }

    /// Reads records by name: `records/lookup`.
    func lookUpRecords(_ call: HubCall, _ access: DatabaseAccess) throws -> HubResponse {
        let request: LookupRecordsRequest = try call.decode()
        try checkCount(request.records.count)
        return try storage.read { transaction in
            let zone = try transaction.zone(request.zoneID ?? WireZoneID(), access)
            let addresses = try addresses(transaction)
            let records = try request.records.map {
                try transaction.liveRecord($0.recordName, in: zone)
            }
            return .object(numbersAsStrings: request.options.numbersAsStrings) { json in
                json.member("records", array: zip(records, request.records)) { json, item in
                    let (record, wanted) = item
                    guard let record else {
                        let error = WireError(.notFound, "Record not found")
                        return json.object {
                            WireItem<WireRecord>.failure(.record(wanted.recordName), error)
                                .write(to: &$0)
                        }
                    }
                    let keys = wanted.desiredKeys ?? request.options.desiredKeys
                    RecordReply(desiredKeys: keys.map(Set.init), addresses: addresses)
                        .write(record, to: &json)
                }
            }
        }
    }

    /// Finds records: `records/query`.
    func queryRecords(_ call: HubCall, _ access: DatabaseAccess) throws -> HubResponse {
        let request: QueryRecordsRequest = try call.decode()
        let count = try pageCount(request.resultsLimit, call)
        let runner = try QueryRunner(
            query: request.query, marker: request.continuationMarker, count: count)
        return try storage.read { transaction in
            let zones: [ZoneRow]
            if request.zoneID == nil, request.isZoneWide,
                let database = try transaction.database(access)
            {
                zones = try transaction.zones(database)
            } else {
                zones = [try transaction.zone(request.zoneID ?? WireZoneID(), access)]
            }
            let (records, marker) = try runner.run(zones, transaction)
            let addresses = try addresses(transaction)
            let keys = request.options.desiredKeys.map(Set.init)
            return .object(numbersAsStrings: request.options.numbersAsStrings) { json in
                json.member("records", array: records) { json, found in
                    RecordReply(
                        desiredKeys: keys, zoneID: access.wireID(found.zoneName),
                        addresses: addresses
                    ).write(found.0, to: &json)
                }
                json.member("continuationMarker", marker)
            }
        }
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
