import Backstitch
import Foundation

@Entity struct Department: Equatable {
    var id = ID()
    var name: String
    var budget: Int?
    @Relationship(inverse: \Employee.department) var employees: ToMany<Employee>
}

@Entity struct Employee: Equatable {
    var id = ID()
    var name: String
    @Attribute(.indexed) var email: String
    var age: Int?
    @Relationship(onDelete: .cascade) var department: Department.ID?
}

@Entity struct Project: Equatable {
    var id = ID()
    var title: String
    @Relationship(onDelete: .nullify) var lead: Employee.ID?
}

/// Denies the end of its employee, and ends with its department.
@Entity struct Badge: Equatable {
    var id = ID()
    var number: Int
    @Relationship(onDelete: .deny) var employee: Employee.ID
    @Relationship(onDelete: .cascade) var department: Department.ID?
}

@Entity struct Node: Equatable {
    var id = ID()
    @Relationship(onDelete: .cascade) var parent: ID?
    @Relationship(onDelete: .noAction) var friend: ID?
}

/// Every type of attribute.
@Entity struct Everything: Equatable {
    var id = ID()
    var string = ""
    var bool = false
    var int = 0
    var int16: Int16 = 0
    var int32: Int32 = 0
    var int64: Int64 = 0
    var float: Float = 0
    var double = 0.0
    var decimal: Decimal = 0
    var date: Date = Date(timeIntervalSince1970: 0)
    var data: Data?
    var uuid: UUID?
    var url: URL?
    var reference: Node.ID?
}

extension StoreSchema {
    static let all = StoreSchema(
        Department.self, Employee.self, Project.self, Badge.self, Node.self, Everything.self)
}
