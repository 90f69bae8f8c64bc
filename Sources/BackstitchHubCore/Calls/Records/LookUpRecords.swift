import BackstitchCore
import CloudKitWire

extension RecordCalls {
    /// Reads records by name: `records/lookup`. Those that the reply has no room for are told to be
    /// looked up by themselves; the first one always fits.
    func lookUpRecords(
        _ request: LookupRecordsRequest, _ call: HubCall, _ access: DatabaseAccess,
        _ transaction: any HubReading
    ) throws -> HubResponse {
        try configuration.limits.checkCount(request.records.count)
        let pageBytes = configuration.limits.pageBytes
        let id = request.zoneID ?? WireZoneID()
        func expected(_ place: ZonePlace) -> [KeyQuery] {
            request.records.filter { ServiceNames.isRecordName($0.recordName) }
                .map { .key(StoredRecord.key(place, $0.recordName)) }
        }
        transaction.expect(zones: [id], access) {
            zoneNumbers.place(of: id.zoneName, in: access.partition).map(expected) ?? []
        }
        let place = try zoneNumbers.zone(id, access, transaction).place(in: access.partition)
        transaction.expect { expected(place) }
        let addresses = try address.addresses(access, transaction)
        let optionKeys = request.options.desiredKeys.map(Set.init)
        return try .object(numbersAsStrings: request.options.numbersAsStrings) { json in
            try json.array("records") { json in
                for wanted in request.records {
                    var error = Self.noRoom
                    if json.byteCount < pageBytes {
                        let keys = wanted.desiredKeys.map(Set.init) ?? optionKeys
                        let reply = RecordReply(desiredKeys: keys, addresses: addresses)
                        let isThere = try transaction.withLiveRecord(wanted.recordName, in: place) {
                            unsafe reply.write($0, named: wanted.recordName, to: &json)
                        }
                        if isThere { continue }
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

    private static let noRoom = WireError(
        .limitExceeded, "The reply has no room for the record. Look it up in another request.")
}
