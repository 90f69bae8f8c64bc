import BenchmarkKit
import PeerInterface

/// A store that the workload runs on. Contacts are named by their numbers in the data set.
///
/// Everything that was written is on disk when a call returns.
protocol Engine: AnyObject {
    /// Inserts contacts in one transaction.
    func insert(_ numbers: Range<Int>) throws
    /// Saves contacts one after another, each in a transaction of its own.
    func saveEach(_ numbers: Range<Int>) throws
    /// Saves contacts, each in a transaction of its own, from several writers at once.
    ///
    /// - Returns: the nanoseconds that it took.
    func saveConcurrently(_ numbers: Range<Int>, writers: Int) async throws -> Int64
    /// Updates balances in one transaction; positions are those of the data set's order of updates.
    func update(_ positions: Range<Int>) throws
    /// Deletes contacts in one transaction; positions are those of the order of updates.
    func delete(_ positions: Range<Int>) throws
    /// Reads contacts, all in one snapshot or each in its own, and adds up what was read.
    func get(_ numbers: [Int], inOneSnapshot: Bool) throws -> UInt64
    /// Asks all queries of a kind and adds up what was found.
    func ask(_ kind: Questions.Kind, _ questions: Questions) throws -> UInt64
    /// Folds the change records to modifications and writes them as JSON: a list, or an object in each
    /// line.
    ///
    /// - Returns: the number of modifications.
    func fold(into json: inout peer_buffer) throws -> Int
    /// Lets a service take all changes, forgets them where they need not be kept, and makes the files
    /// small.
    ///
    /// - Returns: whether the engine offers that.
    func compact() async throws -> Bool
    /// Counts and checks everything.
    func census() throws -> Census
    /// Ends what goes on in the background.
    func settle() throws
    func close()
}

extension Engine {
    func compact() async throws -> Bool { false }
}

/// What is in a store.
struct Census: Equatable {
    var rows = 0
    /// The number of change records.
    var changes = 0
    /// The sum of the full digests of all rows.
    var digest: UInt64 = 0
}

/// An engine that failed, or gave a wrong answer.
struct EngineFailure: Error, CustomStringConvertible {
    let description: String
}
