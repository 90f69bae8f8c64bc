import BackstitchCore
import BackstitchSync

/// Calls that don't wait for each other: each is answered as though it were alone.
struct CallsAtOnceConformance {
    let probe: ConformanceProbe

    private static let callsMax = 8

    func callsAtOnce() async {
        let (service, zone) = (probe.service, probe.zone)
        let problems = await withTaskGroup(of: [String].self) { group in
            for number in 0..<Self.callsMax {
                group.addTask {
                    do throws(ServiceError) {
                        return try await Self.exchange(number, service, zone)
                    } catch {
                        return ["a call beside others failed with \(error)"]
                    }
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        for problem in Set(problems).sorted() { probe.note(problem) }
    }

    /// Creates a record, reads it in both ways and changes it, beside others that do the same.
    private static func exchange(
        _ number: Int, _ service: any RecordService, _ zone: ZoneID
    ) async throws(ServiceError) -> [String] {
        var problems: [String] = []
        let (name, value) = ("r\(number)", ServiceValue.int64(Int64(number)))
        let created = try await service.modifyRecords(
            [.create(recordName: name, recordType: "T", fields: ["n": value])], in: zone,
            atomic: number.isMultiple(of: 2))
        guard case .saved(let tag, _)? = created.first, created.count == 1 else {
            return ["a record created beside others is saved"]
        }
        let found = try await service.lookUpRecords([name, "none\(number)"], in: zone)
        guard found.count == 2, case .found(let record)? = found.first, found.last == .notFound
        else { return ["look-ups beside others are answered each in its place"] }
        if record.recordName != name || record.changeTag != tag || record.fields["n"] != value {
            problems.append("a look-up beside others finds the record that it names")
        }
        let updated = try await service.modifyRecords(
            [.update(recordName: name, recordType: "T", changeTag: tag, fields: ["m": value])],
            in: zone, atomic: false)
        guard case .saved(let next, _)? = updated.first else {
            return problems + ["a record changed beside others is saved"]
        }
        let page = try await service.zoneChanges(
            in: zone, since: nil, limit: 2 * callsMax, fields: nil, types: nil)
        let isListed = page.records.contains { $0.recordName == name && $0.changeTag == next }
        if !isListed, !page.moreComing {
            problems.append("a feed read beside others has one's own write")
        }
        return problems
    }
}
