public import CLMDB

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
            handle: Self.firstHandle + MDB_dbi(named + member - 1),
            number: UInt16(Self.memberNumberBase + member))
    }
}

extension EnvironmentOptions {
    /// The name of a database by its number: the one place that knows.
    ///
    /// - Returns: `nil` if there is none with the number.
    func name(ofDatabase number: UInt16) -> String? {
        if Int(number) < databases.count { return databases[Int(number)] }
        let member = Int(number) - Database.memberNumberBase
        guard let family, (1...family.countMax).contains(member) else { return nil }
        return family.name(of: member)
    }

    /// The number of a database by its name.
    func number(ofDatabase name: String) -> UInt16? {
        if let index = databases.firstIndex(of: name) { return UInt16(index) }
        return family?.member(named: name).map { UInt16(Database.memberNumberBase + $0) }
    }

    /// The database with a number for which there is a name. Whoever uses it has a transaction that sees
    /// it, so that it is open.
    func database(numbered number: UInt16) -> Database {
        if Int(number) <= Database.memberNumberBase { return Database(index: Int(number)) }
        return Database(
            member: Int(number) - Database.memberNumberBase, named: databases.count)
    }

    /// The most databases that there can be.
    var databasesMax: Int { databases.count + (family?.countMax ?? 0) }
}
