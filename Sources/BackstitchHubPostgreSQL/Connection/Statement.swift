/// A statement that connections prepare when they use it first.
struct Statement: Hashable, Sendable {
    /// What a parameter is.
    enum Kind: UInt32, Sendable {
        case number = 20  // int8
        case bytes = 17  // bytea
        case numbers = 1016  // int8[]
        case list = 1001  // bytea[]
        case text = 25
    }

    let name: String
    let sql: String
    let kinds: [Kind]

    init(_ name: String, _ kinds: Kind..., sql: String) {
        (self.name, self.kinds, self.sql) = (name, kinds, sql)
    }

    static func == (left: Statement, right: Statement) -> Bool { left.name == right.name }

    func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// A statement with the values of its parameters, in the server's binary form.
struct BoundStatement: Sendable {
    let statement: Statement
    /// One after another, without gaps.
    private(set) var bytes: [UInt8] = []
    /// How many bytes each has.
    private(set) var counts: [Int] = []

    init(_ statement: Statement) { self.statement = statement }

    private consuming func adding(
        _ kind: Statement.Kind, _ write: (inout [UInt8]) -> Void
    ) -> BoundStatement {
        precondition(
            counts.count < statement.kinds.count && statement.kinds[counts.count] == kind,
            "A statement was given another parameter than it has.")
        let start = bytes.count
        write(&bytes)
        counts.append(bytes.count - start)
        return self
    }

    consuming func adding(_ number: Int64) -> BoundStatement {
        adding(.number) { $0.add(bigEndian: number) }
    }

    consuming func adding(_ bytes: some Collection<UInt8>) -> BoundStatement {
        adding(.bytes) { $0 += bytes }
    }

    consuming func adding(_ text: String) -> BoundStatement { adding(.text) { $0 += text.utf8 } }

    consuming func adding(_ numbers: [Int64]) -> BoundStatement {
        adding(.numbers) { target in
            target.addArray(of: .number, count: numbers.count)
            for number in numbers {
                target.add(bigEndian: Int32(8))
                target.add(bigEndian: number)
            }
        }
    }

    consuming func adding<Bytes: Collection<UInt8>>(_ list: [Bytes]) -> BoundStatement {
        adding(.list) { target in
            target.addArray(of: .bytes, count: list.count)
            for bytes in list {
                target.add(bigEndian: Int32(bytes.count))
                target += bytes
            }
        }
    }
}

extension [UInt8] {
    fileprivate mutating func add(bigEndian number: some FixedWidthInteger) {
        unsafe Swift.withUnsafeBytes(of: number.bigEndian) { unsafe append(contentsOf: $0) }
    }

    /// The head of an array of one dimension without nulls: array_recv of PostgreSQL reads it.
    fileprivate mutating func addArray(of kind: Statement.Kind, count: Int) {
        add(bigEndian: Int32(count == 0 ? 0 : 1))
        add(bigEndian: Int32(0))
        add(bigEndian: kind.rawValue)
        guard count > 0 else { return }
        add(bigEndian: Int32(count))
        add(bigEndian: Int32(1))
    }
}
