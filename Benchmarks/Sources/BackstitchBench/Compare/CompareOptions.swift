/// What `compare` is asked to do.
struct CompareOptions {
    var rounds = 5
    var workloads = Workload.allCases
    var engines = EngineKind.allCases
    var records = 100_000
    var isJSON = false
    var directory: String?
    /// The folder of a control group, whose memory is all that the engines have.
    var controlGroup: String?
    var output: String?
    var svg: String?
    var seed: UInt64 = 1

    /// How many single saves of each kind: 2,000 in the full workload.
    var saves: Int { min(2_000, max(64, records / 10)) }
    /// How many contacts are deleted: 10,000 in the full workload.
    var deletes: Int { records / 10 }
    /// How many contacts a transaction inserts, updates or deletes.
    static let transactionSize = 1_000
}
