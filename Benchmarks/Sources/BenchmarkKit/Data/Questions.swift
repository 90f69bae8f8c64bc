/// The queries of the workload, and the sums that their answers have to have.
public struct Questions: Sendable {
    /// One kind of query.
    public enum Kind: String, CaseIterable, Sendable {
        /// Contacts by email, which is indexed and unique.
        case equality = "d-equality"
        /// The same, where Backstitch is asked by a typed condition in place of a predicate.
        case equalityTyped = "d-equality-typed"
        /// Contacts in a range of ages, about ``rowsWanted``.
        case range = "d-range"
        /// Contacts with a high balance, which is not indexed; about ``rowsWanted``.
        case scan = "d-scan"
        /// The same, where Backstitch takes two threads.
        case scanOnTwo = "d-scan-2"
        /// The first ``sortLimit`` by last name, which is not indexed, then by id.
        case sort = "d-sort"
        /// The same, where Backstitch takes two threads.
        case sortOnTwo = "d-sort-2"
        /// Contacts of a department, about ``rowsWanted``.
        case toMany = "d-tomany"
    }

    /// How many rows queries with several rows are to find.
    public static let rowsWanted = 100
    /// How many rows the sorted query returns.
    public static let sortLimit = 50

    /// The contacts to get, by number.
    public let gets: [Int]
    /// The contacts whose email is asked for, by number.
    public let emails: [Int]
    /// The lower bounds of ages.
    public let ages: [Int64]
    /// The lower bounds of balances.
    public let balances: [Double]
    /// How often the sorted query is asked.
    public let sorts: Int
    /// The departments that are asked for.
    public let departments: [IDBytes]
    private let sums: [Kind: UInt64]
    /// What the gets add up to.
    public let getSum: UInt64

    /// Queries over all contacts of a data set.
    public init(_ data: Dataset, seed: UInt64) {
        var random = SplitMix(seed: seed)
        func draw(_ count: Int, below limit: Int) -> [Int] {
            (0..<count).map { _ in Int(random.next() % UInt64(limit)) }
        }
        let total = data.people.count
        gets = draw(data.records, below: total)
        emails = draw(min(10_000, total), below: total)
        ages = draw(200, below: max(1, data.records - Self.rowsWanted)).map(Int64.init)
        let share = 1 - Double(Self.rowsWanted) / Double(total)
        balances = (0..<10).map { Person.balanceMax * max(0, share) - Double($0) }
        sorts = 10
        departments = draw(200, below: data.departments.count).map { data.departments[$0] }
        getSum = gets.reduce(0) { $0 &+ data.touches[$1] }
        let scanned = Self.sum(balances, data) { $1.balance >= $0 }
        let sorted = Self.sortSum(data) &* UInt64(sorts)
        sums = [
            .equality: emails.reduce(0) { $0 &+ data.touches[$1] },
            .equalityTyped: emails.reduce(0) { $0 &+ data.touches[$1] },
            .range: Self.sum(ages, data) { age, person in
                person.age >= age && person.age < age + Int64(Self.rowsWanted)
            },
            .scan: scanned, .scanOnTwo: scanned, .sort: sorted, .sortOnTwo: sorted,
            .toMany: departments.reduce(0) { sum, department in
                sum &+ Self.sum(of: department, data)
            },
        ]
    }

    /// Whether the order of a kind's answers counts.
    public static func isOrdered(_ kind: Kind) -> Bool { kind == .sort || kind == .sortOnTwo }

    /// How many queries of a kind are asked.
    public func count(_ kind: Kind) -> Int {
        switch kind {
        case .equality, .equalityTyped: emails.count
        case .range: ages.count
        case .scan, .scanOnTwo: balances.count
        case .sort, .sortOnTwo: sorts
        case .toMany: departments.count
        }
    }

    /// What the answers of a kind add up to.
    public func sum(_ kind: Kind) -> UInt64 { sums[kind] ?? 0 }

    /// Joins the sums of sorted rows so that their order counts.
    public static func inOrder(_ sum: UInt64, _ touch: UInt64) -> UInt64 { sum &* 31 &+ touch }

    private static func sum<Value>(
        _ values: [Value], _ data: Dataset, _ matches: (Value, Person) -> Bool
    ) -> UInt64 {
        var sum: UInt64 = 0
        for value in values {
            for (number, person) in data.people.enumerated() where matches(value, person) {
                sum &+= data.touches[number]
            }
        }
        return sum
    }

    private static func sum(of department: IDBytes, _ data: Dataset) -> UInt64 {
        var sum: UInt64 = 0
        for (number, person) in data.people.enumerated()
        where words(person.department) == words(department) {
            sum &+= data.touches[number]
        }
        return sum
    }

    private static func words(_ id: IDBytes) -> [UInt64] {
        withUnsafeBytes(of: id) { bytes in
            [
                bytes.loadUnaligned(as: UInt64.self),
                bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self),
            ]
        }
    }

    private static func sortSum(_ data: Dataset) -> UInt64 {
        let order = data.people.indices.sorted { first, second in
            let names = (data.people[first].lastName, data.people[second].lastName)
            return names.0 == names.1
                ? first < second : names.0.utf8.lexicographicallyPrecedes(names.1.utf8)
        }
        return order.prefix(sortLimit).reduce(0) { inOrder($0, data.touches[$1]) }
    }
}
