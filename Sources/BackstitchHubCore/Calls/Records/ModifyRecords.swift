import BackstitchCore
import CloudKitWire

extension RecordCalls {
    /// Applies operations to the records of a zone: `records/modify`.
    func modifyRecords(
        _ request: ModifyRecordsRequest, _ call: HubCall, _ access: DatabaseAccess
    ) async throws -> HubResponse {
        let author = try access.requiredAuthor
        let request = try named(request)
        let answers = once.ledger(for: call, access)
        let job = ModifyJob(
            request: request, access: access, author: author, now: configuration.now,
            limits: configuration.limits, assets: assets, ledger: answers, zoneNumbers: zoneNumbers,
            watch: watch)
        let (limits, baseURL) = (configuration.limits, address.baseURL)
        let extensions = call.extensions
        let outcome = try await feeds.write(to: access.partition) { own in
            try await storage.write(
                call.work, to: [access.partition], expecting: { job.expected }
            ) { transaction in
                let outcome = try job.run(transaction) { plan, state, syncToken, isShort in
                    Self.body(
                        of: plan, request, extensions, syncToken, isShort: isShort,
                        AssetAddresses(
                            baseURL: baseURL, key: state.tokenKey,
                            expires: job.now + limits.addressMilliseconds,
                            partition: access.partition), limits)
                }
                if case .done(_, _, let step) = outcome { own.begin(step) }
                return outcome
            }
        }
        switch outcome {
        case .repeated(let body):
            metrics.countRepetition()
            return .json(body)
        case .done(let body, let changes, _):
            let deleted = changes.count { $0.kind == .deleted }
            metrics.countRecords(saved: changes.count - deleted, deleted: deleted)
            once.note(body, in: answers)
            if !changes.isEmpty {
                if changes.contains(where: { $0.record.hasAssets }) {
                    releaseUploads(of: request, access)
                }
                let zoneName = request.zoneID?.zoneName ?? WireZoneID.defaultZoneName
                notifier.notify(
                    of: changes, in: [zoneName], access, sender: call.pushToken, call.work)
                await sweeper.sweepOthers()
            }
            return .json(body)
        }
    }

    /// Forgets the space of files that records may hold now, and that counts as theirs.
    private func releaseUploads(of request: ModifyRecordsRequest, _ access: DatabaseAccess) {
        for operation in request.operations {
            for field in operation.record.fields.values {
                for case .asset(let asset) in field.value?.elements ?? [] {
                    if let receipt = asset.receipt {
                        uploads.release(UploadRow.key(access.partition, receipt: receipt))
                    }
                }
            }
        }
    }

    /// The request with a name for each record, and no name twice.
    private func named(_ request: ModifyRecordsRequest) throws(WireError) -> ModifyRecordsRequest {
        var request = request
        try configuration.limits.checkCount(request.operations.count)
        for index in request.operations.indices
        where request.operations[index].record.recordName == nil
            && request.operations[index].unreadable == nil
        {
            request.operations[index].record.recordName = configuration.clock.uuid()
        }
        try Self.checkDuplicates(request.operations)
        return request
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
        _ syncToken: String?, isShort: Bool, _ addresses: AssetAddresses, _ limits: HubLimits
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
            json.member("syncToken", syncToken)
        }
        return json.bytes
    }
}
