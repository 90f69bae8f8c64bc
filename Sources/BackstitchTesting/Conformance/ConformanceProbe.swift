import BackstitchCore
import BackstitchSync

/// Asks a service, in one zone, and notes what is wrong.
final class ConformanceProbe {
    let service: any RecordService
    let zone: ZoneID
    private let check: RecordServiceConformance.Check
    /// What is wrong, in words.
    private(set) var failures: [String] = []

    init(_ service: any RecordService, in zone: ZoneID, for check: RecordServiceConformance.Check) {
        self.service = service
        self.zone = zone
        self.check = check
    }

    /// Notes a failure unless a condition holds.
    func expect(_ condition: Bool, _ rule: String) {
        if !condition { note(rule) }
    }

    func note(_ problem: String) { failures.append("\(check.rawValue): \(problem)") }

    /// Notes a failure unless an operation failed with a code.
    func expect(
        _ result: ModificationResult?, failed code: ServiceError.Code, _ rule: String
    ) {
        let found =
            switch result {
            case .failed(let error)?: error.code.rawValue
            case .saved?: "saved"
            case .deleted?: "deleted"
            case nil: "no answer"
            }
        expect(found == code.rawValue, "\(rule): \(code.rawValue) expected, \(found) found")
    }

    /// Notes a failure unless a call throws a code.
    func expect(
        throws code: ServiceError.Code, _ rule: String,
        _ call: () async throws(ServiceError) -> Void
    ) async {
        do throws(ServiceError) {
            try await call()
            expect(false, "\(rule): \(code.rawValue) expected, nothing thrown")
        } catch {
            expect(
                error.code == code,
                "\(rule): \(code.rawValue) expected, \(error.code.rawValue) found")
        }
    }

    func modify(
        _ operations: [RecordModification], atomic: Bool = false
    ) async throws(ServiceError) -> [ModificationResult] {
        try await service.modifyRecords(operations, in: zone, atomic: atomic)
    }

    /// Carries out one operation.
    func modify(_ operation: RecordModification) async throws(ServiceError) -> ModificationResult {
        guard let result = try await modify([operation]).first else {
            throw ServiceError(.invalidRequest, "the service gave no answer")
        }
        return result
    }

    /// Creates a record and answers its tag.
    func create(
        _ name: String, _ fields: NamedFields = [:]
    ) async throws(ServiceError) -> String {
        let result = try await modify(.create(recordName: name, recordType: "T", fields: fields))
        return try tag(of: result)
    }

    /// Creates records named by numbers.
    func createMany(_ names: [String]) async throws(ServiceError) {
        let count = max(1, await service.limits.operationsPerRequest)
        var start = 0
        while start < names.count {
            let part = names[start..<min(start + count, names.count)]
            let results = try await modify(
                part.map { .create(recordName: $0, recordType: "T", fields: ["n": .int64(1)]) })
            for result in results { _ = try tag(of: result) }
            start += count
        }
    }

    /// The tag of what was saved.
    func tag(of result: ModificationResult) throws(ServiceError) -> String {
        switch result {
        case .saved(let changeTag, _): return changeTag
        case .deleted: throw ServiceError(.invalidRequest, "deleted instead of saved")
        case .failed(let error): throw error
        }
    }

    /// The record as the service has it; nil if it does not exist.
    func record(_ name: String) async throws(ServiceError) -> ServiceRecord? {
        switch try await service.lookUpRecords([name], in: zone).first {
        case .found(let record)?: return record
        case .notFound?, nil: return nil
        case .failed(let error)?: throw error
        }
    }

    /// Deletes a record whatever its tag.
    func delete(_ name: String) async throws(ServiceError) -> ModificationResult {
        let tag = try await record(name)?.changeTag ?? "none"
        return try await modify(.delete(recordName: name, changeTag: tag))
    }

    func page(
        since token: String?, limit: Int = 100, fields: Set<String>? = nil
    ) async throws(ServiceError) -> ZoneChangesPage {
        try await service.zoneChanges(in: zone, since: token, limit: limit, fields: fields)
    }

    /// All pages since a token.
    func pages(
        since token: String?, limit: Int
    ) async throws(ServiceError) -> [ZoneChangesPage] {
        var pages: [ZoneChangesPage] = []
        var token = token
        while pages.count < 10_000 {
            let page = try await page(since: token, limit: limit)
            pages.append(page)
            token = page.token
            if !page.moreComing { return pages }
        }
        throw ServiceError(.invalidRequest, "the feed does not come to an end")
    }

    /// All zones changed since a token, of all pages.
    func databaseChanges(since token: String?) async throws(ServiceError) -> DatabaseChangesPage {
        var all = try await service.databaseChanges(since: token)
        var count = 0
        while all.moreComing && count < 10_000 {
            let page = try await service.databaseChanges(since: all.token)
            all.changedZones += page.changedZones
            all.endedZones.merge(page.endedZones) { $1 }
            all.token = page.token
            all.moreComing = page.moreComing
            count += 1
        }
        return all
    }
}

extension ModificationResult {
    var isSaved: Bool {
        if case .saved = self { true } else { false }
    }
}
