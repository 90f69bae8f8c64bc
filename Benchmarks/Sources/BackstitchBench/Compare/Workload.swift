import BenchmarkKit

/// What is measured, in the order in which it is done.
enum Workload: String, CaseIterable {
    case insert = "a"
    case save = "b"
    case saveFrom8 = "b8"
    case saveFrom64 = "b64"
    case get = "c"
    case getInOwnSnapshot = "c-own"
    case equality = "d-equality"
    case equalityTyped = "d-equality-typed"
    case range = "d-range"
    case scan = "d-scan"
    case scanOnTwo = "d-scan-2"
    case sort = "d-sort"
    case sortOnTwo = "d-sort-2"
    case toMany = "d-tomany"
    case update = "e"
    case delete = "f"
    /// The files; measured after ``insert``, as is the heap.
    case size = "g"
    /// What the files of a store of its own take up on the disk after inserts that a service took.
    case compactedSize = "g-compact"
    case fold = "h"

    var title: String {
        switch self {
        case .insert: "insert, 1,000 a transaction; each"
        case .save: "save alone; each"
        case .saveFrom8: "save from 8 writers; each"
        case .saveFrom64: "save from 64 writers; each"
        case .get: "get by id, one snapshot; each"
        case .getInOwnSnapshot: "get by id, own snapshot; each"
        case .equality: "query: equal email; each"
        case .equalityTyped: "query: equal email, as a typed condition; each"
        case .range: "query: range of ages, ~100 rows; each"
        case .scan: "query: unindexed balance, ~100 rows; each"
        case .scanOnTwo: "the same, on two threads of Backstitch; each"
        case .sort: "query: sorted by unindexed name, 50; each"
        case .sortOnTwo: "the same, on two threads of Backstitch; each"
        case .toMany: "query: ~100 contacts of a department; each"
        case .update: "update one field, 1,000 a transaction; each"
        case .delete: "delete, 1,000 a transaction; each"
        case .size: "files after a"
        case .compactedSize: "on the disk after a, pushed and compacted"
        case .fold: "fold the outbox, write JSON; in all"
        }
    }

    /// The kind of query; nil where it is none.
    var question: Questions.Kind? { Questions.Kind(rawValue: rawValue) }
}
