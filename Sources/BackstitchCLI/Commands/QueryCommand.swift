import Backstitch
import BackstitchCore
import Foundation
import Terminal

/// Answers a question to a store.
struct QueryCommand: Command {
    struct Document: Encodable {
        let record: String
        let zone: String?
        let owner: String?
        let values: [String: RecordValue]
    }

    private struct GroupDocument: Encodable {
        let count: Int
        let keys: [RecordValue]
    }

    private struct CountDocument: Encodable {
        let count: Int
    }

    /// How a query is answered, in words, a step each.
    struct Explanation: Encodable {
        let steps: [String]
    }

    private static let condition = Syntax.Option(
        "where", "TEXT", "Only records for which it holds.")
    private static let sort = Syntax.Option(
        "sort", "NAMES", "Sorts by attributes, with commas between them; -NAME is descending.")
    private static let limit = Syntax.Option("limit", "N", "At most N records.")
    private static let offset = Syntax.Option("offset", "N", "Leaves the first N records out.")
    private static let select = Syntax.Option("select", "NAMES", "Shows only these attributes.")
    private static let count = Syntax.Option("count", nil, "Tells only how many there are.")
    private static let explain = Syntax.Option("explain", nil, "Tells how it would be answered.")
    private static let group = Syntax.Option(
        "group", "NAMES", "Counts the records by attributes, with commas between them.")
    private static let pageCount = 500

    let name = "query"
    let summary = "Shows the records of an entity for which a condition holds."
    let syntax = Syntax(
        operands: [.store, Syntax.Operand(name: "ENTITY", summary: "The name of the entity.")],
        options: [
            condition, ZoneOptions.zone, ZoneOptions.owner, sort, limit, offset, select, count,
            group, explain, .json,
        ],
        notes: """
            TEXT is made of tests of attributes, with 'and', 'or', 'not' and parentheses:

              name = 'Ada'   stars >= 4   title contains 'x'   title startsWith 'x'
              stars in (1, 2)   stars not in (3)   born between 1800 and 1900   note is not null

              labels is empty   count(labels) >= 2   any(labels where value = 'x')
              department.name = 'Sales'   any(Employee.department where age > 60)
              count(Employee.department) = 0
              fold(name) = 'angstrom'   fold(name) startsWith 'a'   month(born) = '1815-12-01'
              day(created, 'Europe/Berlin') = '2025-01-30T23:00:00Z'

            fold is a text without case and accents; day, week, month and year are the beginning of
            that, in UTC unless a time zone is given. Both stand in --sort and --group, too.
            Names with dots lead over references, also in --sort. Employee.department are the records
            of Employee that refer to this one by department; value is the element of a list.

            The comparisons are = != < <= > >=. Text is in single or double quotes, with the escapes
            \\\\ \\' \\" \\n \\r \\t. Dates are text: '2025-01-31' or '2025-01-31T12:00:00Z'. Durations are
            numbers with a unit: 1.5s, 20ms, or us, ns, min, h. References are record names in quotes;
            recordName is the record's own. A name that is a keyword or has odd characters is put
            between backticks. Without --sort, the records of the store's own zone come before those
            of others; in each zone UUIDs first, then other names, shorter ones before longer ones.
            They are not held in memory; a sorted answer is.

            JSON: one object a line.
              record, zone (the name of its zone, where that is not the store's own), owner (of the
              zone, where that is not you), values as 'export' has them
            With --count one object: count
            With --group one object a line: keys (the values in the order of NAMES), count
            With --explain one object: steps (in words)
            """)

    func run(_ arguments: Arguments, _ console: Console) async throws -> ExitCode {
        let store = try open(toShow: arguments.operands[0])
        defer { store.close() }
        let name = arguments.operands[1]
        guard let entity = store.catalog.entities.first(where: { $0.name == name }) else {
            let known = store.catalog.entities.map(\.name).sorted().joined(separator: ", ")
            throw Refusal("The store has no entity '\(name.printable)'. It has: \(known).")
        }
        let query = try Self.query(arguments, entity, of: store)
        let isJSON = arguments.has(.json)
        if arguments.has(Self.explain) {
            let steps = try store.read { try $0.explain(query) }.steps
            if isJSON {
                console.output.line(try JSON.line(Explanation(steps: steps)))
            } else {
                for step in steps { console.output.line(step.printable) }
            }
            return .success
        }
        if arguments.has(Self.count) {
            let count = try store.read { try $0.count(query) }
            console.output.line(isJSON ? try JSON.line(CountDocument(count: count)) : "\(count)")
            return .success
        }
        if let names = arguments.text(Self.group) {
            try Self.showGroups(of: query, names, store, isJSON: isJSON, console)
            return .success
        }
        let columns = try Self.columns(arguments.text(Self.select), entity)
        var isFirst = true
        try Self.visit(query, isSorted: arguments.text(Self.sort) != nil, store) { records in
            if isJSON {
                for record in records {
                    console.output.line(try JSON.line(Self.document(record, columns, of: store)))
                }
            } else {
                Self.write(records, columns, of: store, withTitles: isFirst, console)
            }
            isFirst = false
            return !console.output.isClosed
        }
        return .success
    }

    static func query(
        _ arguments: Arguments, _ entity: CatalogEntity, of store: Store
    ) throws -> RecordQuery {
        var query = RecordQuery(entity: entity.name)
        if let zone = try ZoneOptions.chosen(arguments, of: store) { query = query.in(zone) }
        if let text = arguments.text(condition) {
            do throws(ConditionError) {
                query = query.where(
                    try ConditionParser.parse(text, of: entity, in: store.catalog.entities))
            } catch {
                throw UsageError("The condition can't be read. " + error.description(in: text))
            }
        }
        for name in arguments.text(sort)?.listedNames ?? [] {
            let isReversed = name.hasPrefix("-")
            query = query.sorted(
                by: isReversed ? String(name.dropFirst()) : name,
                order: isReversed ? .reverse : .forward)
        }
        if let count = try arguments.number(limit, as: Int.self) { query = query.limit(count) }
        if let count = try arguments.number(offset, as: Int.self) { query = query.offset(count) }
        return query
    }

    private static func showGroups(
        of query: RecordQuery, _ names: String, _ store: Store, isJSON: Bool, _ console: Console
    ) throws {
        let names = names.listedNames
        let groups = try store.read { try $0.groups(query, by: names, [.count]) }
        if isJSON {
            for group in groups {
                guard case .int64(let count)? = group.values.first else { continue }
                console.output.line(
                    try JSON.line(GroupDocument(count: Int(count), keys: group.keys)))
            }
            return
        }
        let rows = groups.map { ($0.keys + $0.values).map { LogLines.text($0) } }
        let titles = names.map(\.printable) + ["Count"]
        for line in lines(rows, titles, withTitles: true, columns: console.columns) {
            console.output.line(line)
        }
    }

    private static func columns(
        _ names: String?, _ entity: CatalogEntity
    ) throws -> [CatalogAttribute] {
        guard let names else { return entity.attributes.filter(\.isDeclared) }
        return try names.split(separator: ",").map { name in
            guard let attribute = entity.attribute(named: String(name)) else {
                let known = entity.attributes.map(\.name).joined(separator: ", ")
                throw UsageError(
                    "\(entity.name) has no attribute '\(name.printable)'. It has: \(known).")
            }
            return attribute
        }
    }

    /// Calls `body` with the records of one moment, part by part, until it returns false.
    private static func visit(
        _ query: RecordQuery, isSorted: Bool, _ store: Store,
        _ body: ([DynamicRecord]) throws -> Bool
    ) throws {
        try store.read { transaction in
            guard !isSorted else {
                _ = try body(try transaction.fetch(query))
                return
            }
            var cursor: QueryCursor?
            repeat {
                let page = try transaction.page(query, after: cursor, count: pageCount)
                guard try body(page.rows) else { return }
                cursor = page.next
            } while cursor != nil
        }
    }

    private static func value(_ attribute: CatalogAttribute, _ record: DynamicRecord)
        -> RecordValue?
    {
        record.values[attribute.name] ?? attribute.schema?.defaultValue
    }

    static func document(
        _ record: DynamicRecord, _ columns: [CatalogAttribute], of store: Store
    ) -> Document {
        let zone = ZoneName(of: record.id.key, in: store)
        var values: [String: RecordValue] = [:]
        for column in columns { values[column.name] = value(column, record) }
        return Document(
            record: record.id.name, zone: zone?.name, owner: zone?.owner, values: values)
    }

    private static func write(
        _ records: [DynamicRecord], _ columns: [CatalogAttribute], of store: Store,
        withTitles: Bool, _ console: Console
    ) {
        if records.isEmpty, withTitles { return console.output.line("No records.") }
        let titles = ["Record"] + columns.map(\.name.printable)
        let rows = records.map { record in
            [record.id.key.text(in: store).printable]
                + columns.map { LogLines.text(value($0, record)) }
        }
        for line in lines(rows, titles, withTitles: withTitles, columns: console.columns) {
            console.output.line(line)
        }
    }

    /// The rows as a table, or a field a line where a table is wider than the terminal.
    ///
    /// - Parameter columns: The columns of the terminal; nil for any number.
    static func lines(
        _ rows: [[String]], _ titles: [String], withTitles: Bool, columns: Int?
    ) -> [String] {
        let table = Table.lines(withTitles ? [titles] + rows : rows)
        guard let columns, table.contains(where: { $0.count > columns }) else { return table }
        return rows.flatMap { row in
            Table.lines(zip(titles, row).map { [$0, $1] }) + [""]
        }
    }
}
