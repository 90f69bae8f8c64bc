import Backstitch
import BenchmarkKit
import Foundation

@Entity struct Department {
    var id = ID()
    var name: String
    @Relationship(inverse: \Contact.department) var contacts: ToMany<Contact>
}

@Entity struct Contact {
    var id = ID()
    var firstName: String
    var lastName: String
    @Attribute(.indexed) var email: String
    @Attribute(.indexed) var age: Int64
    var balance: Double
    var active: Bool
    var createdAt: Date
    var notes: String
    var department: Department.ID?
}

extension EntityID {
    init(bytes: IDBytes) {
        self.init(UUID(uuid: bytes))
    }

    var bytes: IDBytes {
        (uuid ?? UUID()).uuid
    }
}

extension Contact {
    init(_ person: Person) {
        self.init(
            id: ID(bytes: person.id), firstName: person.firstName, lastName: person.lastName,
            email: person.email, age: person.age, balance: person.balance,
            active: person.isActive,
            createdAt: Date(timeIntervalSince1970: Double(person.createdMilliseconds) / 1000),
            notes: person.notes, department: Department.ID(bytes: person.department))
    }

    var createdMilliseconds: Int64 { Int64((createdAt.timeIntervalSince1970 * 1000).rounded()) }

    /// What `peer_touch` adds for the contact.
    var touch: UInt64 {
        var sum = balance.bitPattern
        sum &+= UInt64(bitPattern: age)
        sum &+= UInt64(bitPattern: createdMilliseconds)
        sum &+= active ? 1 : 0
        sum &+= UInt64(firstName.utf8.count + 2 * lastName.utf8.count)
        sum &+= UInt64(3 * email.utf8.count + 4 * notes.utf8.count)
        sum &+= UInt64(id.bytes.15)
        if let department { sum &+= UInt64(department.bytes.15) }
        return sum
    }
}

/// The contacts of the data set as values of the entity.
struct ContactSet: Sendable {
    let data: Dataset
    let contacts: [Contact]

    init(_ data: Dataset) {
        self.data = data
        contacts = data.people.map(Contact.init)
    }
}
