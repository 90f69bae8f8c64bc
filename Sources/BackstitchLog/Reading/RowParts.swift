import BackstitchCore
import LMDB

/// Pieces of the rows of an entity, which several threads read.
struct RowParts {
    private let reader: TableReader

    /// Fewer rows than this are read sooner than another thread is woken.
    private static let rowsMin = 8_192
    /// The pieces for each thread: so many that one which is late with its last does not hold up the others.
    private static let partsPerThread = 4

    init(_ reader: TableReader) { self.reader = reader }

    func ranges(of entity: EntityNumber) throws -> [KeyRange] {
        let access = reader.access
        guard reader.threadsMax > 1, reader.past == nil, !access.canWrite,
            let rows = access.rows(of: entity), try access.countLimit(of: rows) >= Self.rowsMin
        else { return [] }
        let bounds = ParallelReads(access).bounds(
            in: rows, parts: Self.partsPerThread * reader.threadsMax)
        if bounds.isEmpty { return [] }
        return zip([[]] + bounds, bounds.map(Optional.some) + [nil]).map {
            KeyRange(lower: $0, upper: $1)
        }
    }

    func run(count: Int, _ body: (Int, TableReader) throws -> Void) throws -> Bool {
        try ParallelReads(reader.access).run(count: count, threadsMax: reader.threadsMax) {
            number, access in
            try body(
                number,
                TableReader(
                    access: access, databases: reader.databases, catalog: reader.catalog,
                    checksRows: reader.checksRows))
        }
    }
}
