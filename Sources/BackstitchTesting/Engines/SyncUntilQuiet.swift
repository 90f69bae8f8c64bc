import BackstitchStore
public import BackstitchSync
public import Foundation

/// Lets engines synchronise one after another, in turns, until a whole turn changes none of their
/// stores: then all of them have what the service has, as far as it takes it.
///
/// ```swift
/// try await sync(phone, laptop, untilQuiet: 10)
/// #expect(try phone.store.read { try $0.fetch(Note.self) } == expected)
/// ```
///
/// Engines of different stores, in any number. They need not be started; if they are, what they do
/// meanwhile counts too. The call does not wait: if the service refuses a round, the call throws.
///
/// - Parameter turnsMax: The most turns, the last of which changes nothing. Two devices that edited
///   the same records need three or four.
/// - Returns: the number of turns.
/// - Throws: `SyncError` as `SyncEngine.sync()` does; ``NotQuiet`` if stores still change in the
///   last turn.
@discardableResult
public func sync(_ engines: SyncEngine..., untilQuiet turnsMax: Int = 10) async throws -> Int {
    var heads = try engines.map { try $0.store.read { try $0.lastSequence } }
    for turn in 1...max(1, turnsMax) {
        for engine in engines { try await engine.sync() }
        let after = try engines.map { try $0.store.read { try $0.lastSequence } }
        if after == heads { return turn }
        heads = after
    }
    throw NotQuiet(turns: max(1, turnsMax), engines: engines.count)
}

/// Stores went on changing while their engines synchronised.
public struct NotQuiet: LocalizedError, Hashable, CustomStringConvertible {
    /// The turns that were made.
    public let turns: Int
    /// The engines that took part.
    public let engines: Int

    /// A message that says what happened and what to do.
    public var description: String {
        "The stores of \(engines) engines still changed in turn \(turns). Allow more turns, or look "
            + "for what goes on writing: a task of the test, or rules for conflicts that differ "
            + "between the devices."
    }

    /// The description.
    public var errorDescription: String? { description }
}
