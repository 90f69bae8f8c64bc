/// Databases of one kind that are made while an environment is open: each has the name of the family and
/// a number. They are made in the order of their numbers, from 1 on, and never go away.
package struct DatabaseFamily: Sendable, Hashable {
    /// What the names begin with; the number follows, in decimal digits.
    package let prefix: String
    /// The greatest number. LMDB takes some 60 bytes for each, used or not, for a transaction.
    package let countMax: Int

    package init(prefix: String, countMax: Int) {
        self.prefix = prefix
        self.countMax = countMax
    }

    package func name(of member: Int) -> String { prefix + String(member) }

    /// The number in a name; `nil` for another name.
    func member(named name: String) -> Int? {
        guard name.hasPrefix(prefix), let member = Int(name.dropFirst(prefix.count)),
            (1...countMax).contains(member), self.name(of: member) == name
        else { return nil }
        return member
    }
}

extension Database {
    /// The number of the first member of the family, and one less; those before are for names of the
    /// options. See ``number``.
    @inlinable package static var memberNumberBase: Int { 16 }

    /// - Parameters:
    ///   - member: A member of the family.
    ///   - named: How many databases the options name.
    @inlinable
    init(member: Int, named: Int) {
        self.init(
            handle: Self.firstHandle + UInt32(named + member - 1),
            number: Self.memberNumberBase + member)
    }

    /// The database with a number.
    ///
    /// - Parameter named: How many databases the options name.
    init(number: Int, named: Int) {
        if number <= Self.memberNumberBase {
            self.init(index: number)
        } else {
            self.init(member: number - Self.memberNumberBase, named: named)
        }
    }
}

extension EnvironmentOptions {
    /// The name of a database by its number: the one place that knows.
    ///
    /// - Returns: `nil` if there is none with the number.
    func name(ofDatabase number: Int) -> String? {
        if databases.indices.contains(number) { return databases[number] }
        let member = number - Database.memberNumberBase
        guard let family, (1...family.countMax).contains(member) else { return nil }
        return family.name(of: member)
    }

    /// The number of a database by its name.
    func number(ofDatabase name: String) -> Int? {
        if let index = databases.firstIndex(of: name) { return index }
        return family?.member(named: name).map { Database.memberNumberBase + $0 }
    }

    /// The most databases that there can be.
    var databasesMax: Int { databases.count + (family?.countMax ?? 0) }
}
