import BackstitchCore
import CloudKitWire

extension Hub {
    /// Reads records by name: `records/lookup`. Those that the reply has no room for are told to be
    /// looked up by themselves; the first one always fits.
    func lookUpRecords(
        _ request: LookupRecordsRequest, _ call: HubCall, _ access: DatabaseAccess
    ) throws -> HubResponse {
        try checkCount(request.records.count)
        let pageBytes = configuration.limits.pageBytes
        return try storage.read(call.work) { transaction in
            let id = request.zoneID ?? WireZoneID()
            transaction.expect(zones: [id], access)
            let place = try transaction.zone(id, access).place(in: access.partition)
            transaction.expect {
                request.records.filter { ServiceNames.isRecordName($0.recordName) }
                    .map { .key(StoredRecord.key(place, $0.recordName)) }
            }
            let addresses = try addresses(access, transaction)
            let optionKeys = request.options.desiredKeys.map(Set.init)
            return try .object(numbersAsStrings: request.options.numbersAsStrings) { json in
                try json.array("records") { json in
                    for wanted in request.records {
                        var error = Self.noRoom
                        if json.byteCount < pageBytes {
                            let keys = wanted.desiredKeys.map(Set.init) ?? optionKeys
                            let record = try transaction.liveRecord(wanted.recordName, in: place)
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
}
