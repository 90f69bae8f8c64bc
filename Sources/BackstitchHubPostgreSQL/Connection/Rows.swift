import CPostgreSQL

/// What a statement gave, in the server's binary form.
@safe final class Rows {
    private let result: OpaquePointer

    init(_ result: OpaquePointer) { unsafe self.result = unsafe result }

    deinit { unsafe PQclear(result) }

    var count: Int { unsafe Int(PQntuples(result)) }

    /// The words by which the server says what it did, such as `COMMIT`.
    var tag: String { unsafe PQcmdStatus(result).map { unsafe String(cString: $0) } ?? "" }

    /// A value, empty where it is null. It is valid as long as the rows are.
    func bytes(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer {
        let count = unsafe PQgetlength(result, Int32(row), Int32(column))
        return unsafe UnsafeRawBufferPointer(
            start: PQgetvalue(result, Int32(row), Int32(column)), count: Int(count))
    }

    func isNull(_ row: Int, _ column: Int) -> Bool {
        unsafe PQgetisnull(result, Int32(row), Int32(column)) == 1
    }

    /// A number of eight bytes.
    func number(_ row: Int, _ column: Int) throws(PostgreSQLError) -> Int64 {
        let bytes = unsafe bytes(row, column)
        guard bytes.count == 8 else {
            throw PostgreSQLError(.refused, "A number has \(bytes.count) bytes in place of 8.")
        }
        return unsafe Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
    }

    func text(_ row: Int, _ column: Int) -> String {
        unsafe String(decoding: bytes(row, column), as: UTF8.self)
    }
}
