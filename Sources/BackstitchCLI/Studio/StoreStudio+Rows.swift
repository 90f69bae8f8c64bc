import Backstitch
import BackstitchCore
import BackstitchLog
import BackstitchStudio
import Foundation
import Terminal

/// Rows of queries: as their plans say while that reads little, and otherwise by a look at every row, part
/// by part, so that the page shows what there is, how far it is, and can stop.
extension StoreStudio {
    /// The most bytes of a place, which is part of an address. Records whose places are the same so far may
    /// come again on the next page, which leaves out what is shown already.
    private static let placeBytesMax = 1_536

    /// A page was ended because its rows are large.
    private struct PageFull: Error {}

    func records(_ call: StudioCall) throws -> StudioDocument.Records {
        let (query, entity) = try query(call)
        let limit = try Self.limit(call)
        if call.text("scan") != nil {
            return try scan(query, entity, try ScanPlace(call), limit)
        }
        let cursor = try call.text("after").map {
            try JSON.value(QueryCursor.self, Array("\"\($0)\"".utf8))
        }
        let isWhole = call.text("whole") != nil
        return try page(query, entity, cursor, limit, isWhole: isWhole)
            // One more tells whether there is another page.
            ?? scan(
                query, entity, ScanPlace(after: cursor, isSorted: !query.sortSteps.isEmpty),
                limit + 1)
    }

    /// A page as the query's plan gives it.
    ///
    /// - Parameter isWhole: Whether values are whole, and any number of rows is looked at: for exports.
    /// - Returns: nil if that looks at more rows than a page should wait for.
    private func page(
        _ query: RecordQuery, _ entity: CatalogEntity, _ cursor: QueryCursor?, _ limit: Int,
        isWhole: Bool
    ) throws -> StudioDocument.Records? {
        let columns = entity.attributes.filter(\.isDeclared)
        let budget = StudioBudget()
        var count = limit
        while true {
            var (records, bytes): ([StudioDocument.Record], Int) = ([], 0)
            do {
                let next = try store.read { transaction in
                    let reader = transaction.reader
                    let table = try reader.table(named: query.entity)
                    let source = MeasuredSource(reader) { isWhole || budget.goesOn($0) }
                    return try unsafe QueryExecutor.page(
                        of: query, in: reader.catalog.binding(of: table), after: cursor,
                        count: count, on: source
                    ) { key, _ in
                        guard let key = unsafe RecordKey(reading: key),
                            let record = try transaction.record(
                                RecordID(entity: query.entity, key: key))
                        else { return }
                        guard bytes < StudioBudget.answerBytesMax else { throw PageFull() }
                        let document = self.document(record, columns, isWhole: isWhole)
                        bytes += document.values.answerBytes
                        records.append(StudioDocument.Record(document: document, place: nil))
                    }
                }
                // A place that is too long for an address is cut by a scan.
                if !isWhole, let next, next.position.values.count > Self.placeBytesMax {
                    return nil
                }
                return StudioDocument.Records(records: records, next: next)
            } catch is PageFull {
                count = records.count
            } catch is ReadTooLong {
                return nil
            }
        }
    }

    private func document(
        _ record: DynamicRecord, _ columns: [CatalogAttribute], isWhole: Bool = false
    ) -> QueryCommand.Document {
        let document = QueryCommand.document(record, columns, of: store)
        guard !isWhole else { return document }
        return QueryCommand.Document(
            record: document.record, zone: document.zone, owner: document.owner,
            values: document.values.shown)
    }

    /// What the next rows have of the answer.
    private func scan(
        _ query: RecordQuery, _ entity: CatalogEntity, _ place: ScanPlace, _ limit: Int
    ) throws -> StudioDocument.Records {
        let columns = entity.attributes.filter(\.isDeclared)
        var records: [StudioDocument.Record] = []
        let scan = try scan(query, place, count: limit) { record, place in
            let document = self.document(record, columns)
            records.append(StudioDocument.Record(document: document, place: place))
        }
        return StudioDocument.Records(
            records: records,
            scan: StudioDocument.Scan(scan, of: try total(entity), after: place.after?.digits))
    }

    private func scan(
        _ query: RecordQuery, _ place: ScanPlace, count: Int,
        _ visit: ((DynamicRecord, String) -> Void)?
    ) throws -> QueryScan {
        let budget = StudioBudget()
        return try store.read { transaction in
            let reader = transaction.reader
            let binding = reader.catalog.binding(of: try reader.table(named: query.entity))
            return try unsafe QueryExecutor.scan(
                query, in: binding, through: place.through, after: place.after, count: count,
                on: reader,
                while: budget.goesOn
            ) { key, place in
                guard let visit, let key = unsafe RecordKey(reading: key),
                    let record = try transaction.record(RecordID(entity: query.entity, key: key))
                else { return }
                unsafe visit(record, [UInt8](place.prefix(Self.placeBytesMax)).digits)
            }
        }
    }

    private func total(_ entity: CatalogEntity) throws -> Int {
        try store.info().entities.first { $0.name == entity.name }?.records ?? 0
    }

    /// Counts up to a limit, and looks at so many rows at a time; without a condition it is the number
    /// that the commits keep.
    func count(_ call: StudioCall) throws -> StudioDocument.Count {
        let (query, entity) = try query(call)
        guard call.text("where") ?? call.text("zone") != nil else {
            return StudioDocument.Count(count: try total(entity), atLeast: false)
        }
        let max = Self.countMax
        if call.text("through") == nil {
            let budget = StudioBudget()
            let count = try store.read { transaction -> Int? in
                let reader = transaction.reader
                let binding = reader.catalog.binding(of: try reader.table(named: query.entity))
                let source = MeasuredSource(reader) { budget.goesOn($0) }
                do {
                    let plan = try QueryPlan(
                        query.limit(max), in: binding, needsRows: false, on: source)
                    return try QueryExecutor.count(plan, on: source)
                } catch is ReadTooLong {
                    return nil
                }
            }
            if let count { return StudioDocument.Count(count: count, atLeast: count == max) }
        }
        let scan = try scan(query.unsorted, try ScanPlace(call), count: max, nil)
        return StudioDocument.Count(
            count: scan.matched, atLeast: scan.through != nil,
            scan: StudioDocument.Scan(scan, of: try total(entity)))
    }

    func explain(_ call: StudioCall) throws -> StudioDocument.Explanation {
        let asked = try query(call).query
        let query = asked.limit(try Self.limit(call))
        let code = QueryCode.text(asked, limit: try call.number("limit"))
        let budget = StudioBudget()
        return try store.read { transaction in
            let reader = transaction.reader
            let plan = try QueryPlan(
                query, in: reader.catalog.binding(of: try reader.table(named: query.entity)),
                on: reader)
            do {
                let explanation = try plan.explanation(runningOn: reader, while: budget.goesOn)
                return StudioDocument.Explanation(steps: explanation.steps, swift: code)
            } catch is ReadTooLong {
                return StudioDocument.Explanation(
                    steps: plan.explanation.steps + [
                        "not run to its end: it reads many rows or entries"
                    ], swift: code)
            }
        }
    }
}

/// Where a part of a scan begins.
private struct ScanPlace {
    /// The stored key of the last row of the part before; nil to begin.
    var through: [UInt8]?
    /// The place in the order after which records count; nil for all.
    var after: [UInt8]?

    /// The place that a page asks for.
    init(_ call: StudioCall) throws {
        through = try call.text("through").map { text in
            guard let data = Data(base64Encoded: text), !data.isEmpty else {
                throw StudioError(400, "through is no place.")
            }
            return [UInt8](data)
        }
        after = try call.text("place").map { text in
            guard let place = [UInt8](digits: text) else {
                throw StudioError(400, "place is none.")
            }
            return place
        }
    }

    /// The place behind the page before, which was read as the plan says.
    init(after cursor: QueryCursor?, isSorted: Bool) {
        guard let position = cursor?.position else { return }
        if isSorted {
            after = position.values + position.key
        } else {
            through = position.key
        }
    }
}

extension [UInt8] {
    /// Two hexadecimal digits for each byte.
    fileprivate var digits: String {
        var text = ""
        text.reserveCapacity(2 * count)
        for byte in self {
            text.append(byte < 16 ? "0" : "")
            text.append(String(byte, radix: 16))
        }
        return text
    }

    /// The bytes that hexadecimal digits spell; nil if the text has other characters.
    fileprivate init?(digits: String) {
        let digits = Array(digits.utf8)
        guard digits.count % 2 == 0 else { return nil }
        self = []
        for at in stride(from: 0, to: digits.count, by: 2) {
            guard
                let byte = UInt8(String(decoding: digits[at..<(at + 2)], as: UTF8.self), radix: 16)
            else { return nil }
            append(byte)
        }
    }
}
