/// What the executor of queries reads from: the tables and indexes of one snapshot.
///
/// Bytes that a closure gets are valid only inside it. A closure returns whether to go on; an error
/// that it throws ends the visit and is passed on. A visit may call the source again.
package protocol RowSource: ~Copyable {
    /// What notes the reads; nil if the caller does not need them.
    var footprint: ReadFootprint? { get }

    /// Visits the rows of an entity whose stored record keys are within a range, in their order.
    ///
    /// - Parameter visit: Gets the stored record key and the packed fields of the row.
    borrowing func visitRows(
        of entity: EntityNumber, within range: KeyRange, reversed: Bool,
        _ visit: (_ key: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer) throws -> Bool
    ) throws

    /// About how many rows a visit of all reads, if that is known without reading them.
    borrowing func rowCount(of entity: EntityNumber) throws -> Int?

    /// Visits the entries of an index within a range, in the order of their keys.
    ///
    /// An index holds each record of the entity once, nulls among them, under its effective value.
    ///
    /// - Parameters:
    ///   - readsRows: Whether `visit` looks at the row of each key, and leaves those out that are
    ///     not to be seen.
    ///   - visit: Gets the value part of the key (`OrderedKey`) and the stored record key.
    borrowing func visitIndex(
        of entity: EntityNumber, attribute: AttributeBinding, within range: KeyRange,
        reversed: Bool, readsRows: Bool,
        _ visit: (_ value: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer) throws -> Bool
    ) throws

    /// Visits the records whose reference points to `target`, in the order of their record keys.
    ///
    /// If the target's stored key is longer than ``OrderedKey/referenceBytesMax``, records that
    /// refer to another one may be among them.
    ///
    /// - Parameters:
    ///   - start: The first stored record key to visit, or bytes in front of it.
    ///   - readsRows: As for an index.
    borrowing func visitReferrers(
        of entity: EntityNumber, attribute: AttributeBinding, target: RecordKey,
        from start: [UInt8], readsRows: Bool,
        _ visit: (_ key: UnsafeRawBufferPointer) throws -> Bool
    ) throws

    /// Calls `body` with the packed fields of a row and returns its result; nil if there is none.
    borrowing func withRow(
        of entity: EntityNumber, key: UnsafeRawBufferPointer,
        _ body: (_ body: UnsafeRawBufferPointer) throws -> Bool
    ) throws -> Bool?

    /// Has the processor fetch rows that are read next, each by its stored record key. An answer is the same
    /// without.
    borrowing func prefetchRows(
        of entity: EntityNumber, count: Int, key: (_ place: Int) -> UnsafeRawBufferPointer)

    /// What one run of a query reads of other rows than those that it looks at.
    borrowing func makeContext() -> RowContext

    /// Pieces of all rows of an entity, in order, that are worth to be visited on several threads; none if
    /// one thread is as good.
    borrowing func rowParts(of entity: EntityNumber) throws -> [KeyRange]

    /// Runs a closure for each number below a count, on this thread and on others at once, each with a
    /// source of the same snapshot. If some fail, the failure of the lowest number is thrown.
    ///
    /// - Returns: Whether it ran; if not, this thread has to do it alone.
    borrowing func alongside(
        count: Int, _ body: (_ number: Int, _ source: borrowing Self) throws -> Void
    ) throws -> Bool
}

extension RowSource {
    package func makeContext() -> RowContext { RowContext(self) }
}

extension RowSource where Self: ~Copyable {
    package var footprint: ReadFootprint? { nil }
    package func rowCount(of entity: EntityNumber) throws -> Int? { nil }
    package func rowParts(of entity: EntityNumber) throws -> [KeyRange] { [] }
    package func prefetchRows(
        of entity: EntityNumber, count: Int, key: (Int) -> UnsafeRawBufferPointer
    ) {}
    package func alongside(
        count: Int, _ body: (Int, borrowing Self) throws -> Void
    ) throws -> Bool { false }
}
